"""The table of units, and the prefixes: names and exact factors.

A line: symbols, `;` words, `=` a factor and units that stand above or below. A word has a plural with -s. A prefix is
taken where the name ends in a sign: `*` any, `-` those below 1, `+` those above 1. `[m]` is a base dimension, `@` the
number of units from absolute zero to that of a scale. An inch is 0.0254 m since 1959, a calorie that of
thermochemistry, a year that of Julius; names that differ by country or trade are refused.
"""

from __future__ import annotations

TABLE = """
m* ; metre* meter* = [m]
kg kilogramme = [kg]
g* ; gram* gramme = 1/1000 kg
s* ; second* = [s]
A* ; ampere* amp = [A]
K* ; kelvin* = [K]
mol* ; mole* = [mol]
cd* ; candela* = [cd]
bit+ ; = [bit]
B+ ; byte+ = 8 bit
KiB ; kibibyte = 1024 B
MiB ; mebibyte = 1048576 B
GiB ; gibibyte = 1073741824 B
TiB ; tebibyte = 1099511627776 B
rad- ; radian = 1
sr ; steradian = 1
deg ° ; degree = pi/180
arcmin ; arcminute = pi/10800
arcsec ; arcsecond = pi/648000
gon ; gradian = pi/200
rev ; turn revolution = pi/0.5
percent = 0.01
permille = 0.001
ppm = 1e-6
ppb = 1e-9
Hz* ; hertz = 1/s
N* ; newton* = kg·m/s^2
Pa* ; pascal* = N/m^2
J* ; joule* = N·m
W* ; watt* = J/s
C* ; coulomb* = A·s
V* ; volt* = W/A
F* ; farad* = C/V
Ω* ohm* ; = V/A
S- ; siemens = A/V
Wb* ; weber* = V·s
T* ; tesla* = Wb/m^2
H* henries ; henry- = Wb/A
lm* ; lumen = cd
lx* ; lux = cd/m^2
Bq* ; becquerel* = 1/s
Gy- ; gray- = J/kg
Sv- ; sievert- = J/kg
kat- ; katal- = mol/s
°C degC ; celsius = K @ 273.15
°F degF ; fahrenheit = 5/9 K @ 459.67
°R degR ; rankine = 5/9 K
min ; minute = 60 s
h hr ; hour = 3600 s
d ; day = 86400 s
week = 604800 s
fortnight = 1209600 s
yr+ ; year = 31557600 s
decade = 315576000 s
century centuries = 3155760000 s
Å ; angstrom ångström = 1e-10 m
micron = 1e-6 m
fermi = 1e-15 m
au ; astronomical_unit = 149597870700 m
ly lightyear+ ; light_year+ = 9460730472580800 m
pc+ ; parsec+ = 96939420213600000/pi m
in inch inches = 0.0254 m
thou = 0.0000254 m
ft feet foot = 0.3048 m
yd ; yard = 0.9144 m
mi ; mile = 1609.344 m
nmi ; nautical_mile = 1852 m
fathom = 1.8288 m
rod = 5.0292 m
chain = 20.1168 m
furlong = 201.168 m
hand = 0.1016 m
ha ; hectare = 10000 m^2
acre = 4046.8564224 m^2
barn* = 1e-28 m^2
sqft = 0.09290304 m^2
L- l- ; litre- liter- = 0.001 m^3
hl hL ; hectolitre hectoliter = 0.1 m^3
cc = 1e-6 m^3
us_gallon = 0.003785411784 m^3
imperial_gallon = 0.00454609 m^3
us_quart = 0.000946352946 m^3
us_pint = 0.000473176473 m^3
imperial_pint = 0.00056826125 m^3
us_cup = 0.0002365882365 m^3
metric_cup = 0.00025 m^3
us_fluid_ounce = 0.0000295735295625 m^3
imperial_fluid_ounce = 0.0000284130625 m^3
tablespoon tbsp = 0.00001478676478125 m^3
teaspoon tsp = 0.00000492892159375 m^3
bbl oil_barrel = 0.158987294928 m^3
bushel = 0.03523907016688 m^3
t ; tonne+ = 1000 kg
short_ton = 907.18474 kg
long_ton = 1016.0469088 kg
lb lbs ; pound = 0.45359237 kg
oz ; ounce = 0.028349523125 kg
stone = 6.35029318 kg
grain gr = 0.00006479891 kg
carat ct = 0.0002 kg
troy_ounce = 0.0311034768 kg
pennyweight = 0.00155517384 kg
short_hundredweight = 45.359237 kg
long_hundredweight = 50.80234544 kg
slug = 14.593902937206364 kg
u Da+ amu ; dalton+ = 1.66053906892e-27 kg
kn kt ; knot = 1852/3600 m/s
mph = 0.44704 m/s
kph kmh = 1/3.6 m/s
rpm = pi/30 1/s
Gal- = 0.01 m/s^2
standard_gravity = 9.80665 m/s^2
dyn ; dyne = 1e-5 N
lbf ; pound_force = 4.4482216152605 N
ozf ; ounce_force = 0.27801385095378125 N
kgf kp ; kilogram_force kilopond = 9.80665 N
gf ; gram_force = 0.00980665 N
kip = 4448.2216152605 N
poundal = 0.138254954376 N
bar* = 100000 Pa
atm ; atmosphere = 101325 Pa
technical_atmosphere = 98066.5 Pa
torr Torr = 101325/760 Pa
mmHg = 133.322387415 Pa
inHg = 3386.388640341 Pa
psi = 4.4482216152605/0.00064516 Pa
ksi = 4448.2216152605/0.00064516 Pa
eV* ; electronvolt* electron_volt* = 1.602176634e-19 J
cal+ ; calorie+ = 4.184 J
cal_it = 4.1868 J
erg = 1e-7 J
Wh+ ; watt_hour+ = 3600 J
btu_it = 1055.05585262 J
btu_th = 1054.3502644888888 J
therm = 105505585.262 J
ton_tnt = 4184000000 J
ft_lbf = 1.3558179483314004 J
hartree = 4.3597447222060e-18 J
Ry rydberg = 2.1798723611030e-18 J
mechanical_hp horsepower = 745.69987158227022 W
metric_hp = 735.49875 W
VA+ = V·A
ton_refrigeration = 3516.85284206666666 W
P- ; poise- = 0.1 Pa·s
St- ; stokes = 0.0001 m^2/s
darcy- = 1e-12/1.01325 m^2
Ah- ; ampere_hour- = 3600 C
faraday = 96485.33212331 C
gauss = 1e-4 T
maxwell = 1e-8 Wb
oersted = 250/pi A/m
debye = 3.33564095198152e-30 C·m
M- ; molar- = 1000 mol/m^3
dioptre dpt diopter = 1/m
kayser = 100 1/m
tex- = 1e-6 kg/m
denier = 1e-6/9 kg/m
Ci- ; curie- = 37000000000 1/s
roentgen = 0.000258 C/kg
rem- ; = 0.01 J/kg
nit = cd/m^2
stilb = 10000 cd/m^2
lambert = 10000/pi cd/m^2
footcandle = 10.763910416709722 cd/m^2
jansky Jy- = 1e-26 W/m^2/Hz
baud Bd+ = 1/s
clo = 0.155 K·m^2/W
sverdrup = 1000000 m^3/s
cumec = m^3/s
gpm = 0.003785411784/60 m^3/s
lpm = 0.001/60 m^3/s
cfm = 0.028316846592/60 m^3/s
mpg = 1609.344/0.003785411784 1/m^2
"""

AMBIGUOUS = {
    "ton": "tonne short_ton long_ton",
    "cup": "us_cup metric_cup",
    "month": "day week year",
    "gallon": "us_gallon imperial_gallon",
    "gal": "us_gallon imperial_gallon Gal",
    "quart": "us_quart L",
    "pint": "us_pint imperial_pint",
    "floz": "us_fluid_ounce imperial_fluid_ounce",
    "BTU": "btu_it btu_th",
    "btu": "btu_it btu_th",
    "hp": "mechanical_hp metric_hp",
    "mil": "thou mrad",
    "cwt": "short_hundredweight long_hundredweight",
    "hundredweight": "short_hundredweight long_hundredweight",
    "pt": "us_pint imperial_pint",
    "barrel": "oil_barrel us_gallon",
    "Cal": "kcal cal",
}

SHORT = {
    **dict(zip("QRYZEPTGMk", (10**n for n in (30, 27, 24, 21, 18, 15, 12, 9, 6, 3)), strict=True)),
    "h": 100,
    "da": 10,
    "d": -10,
    "c": -100,
    **dict(zip("mµupnfazyrq", (-(10**n) for n in (3, 6, 6, 12, 9, 15, 18, 21, 24, 27, 30)), strict=True)),
}
LONG = dict(
    zip(
        "quetta ronna yotta zetta exa peta tera giga mega kilo hecto deca "
        "deci centi milli micro nano pico femto atto zepto yocto ronto quecto".split(),
        [SHORT[short] for short in "Q R Y Z E P T G M k h da d c m µ n p f a z y r q".split()],
        strict=True,
    )
)
