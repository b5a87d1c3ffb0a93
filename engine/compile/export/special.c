/* Special functions that C99, JavaScript and Python's `math` lack: `special.py` makes the two others of this one.

   Each statement has a line of its own, so that a few replacements make JavaScript or Python of it. Sums are taken to
   full precision: Stirling's series and that of digamma from 12 on, Euler and Maclaurin's formula, the series and the
   continued fraction of the incomplete gamma function (5.11, 5.15, 25.11, 8.9 and 8.11 in the Digital Library of
   Mathematical Functions), Newton's method with the second derivative for the inverses of erf. */

static double agrad_lgamma(double x)
{
    if (x <= 0.0 && x == floor(x)) {
        return INFINITY;
    }
    if (x < 0.5) {
        return log(3.141592653589793/fabs(sin(3.141592653589793*fmod(x, 1.0)))) - agrad_lgamma(1.0 - x);
    }
    if (x == INFINITY) {
        return x;
    }
    double y = x;
    double below = 1.0;
    while (y < 12.0) {
        below = below*y;
        y = y + 1.0;
    }
    double t = 1.0/(y*y);
    double rest = 1.0/12.0 - t*(1.0/360.0 - t*(1.0/1260.0 - t*(1.0/1680.0 - t*(1.0/1188.0 - t*691.0/360360.0))));
    return (y - 0.5)*log(y) - y + 0.9189385332046727 + rest/y - log(below);
}

static double agrad_gamma(double x)
{
    if (x == 0.0) {
        return copysign(INFINITY, x);
    }
    if (x < 0.0 && x == floor(x)) {
        return NAN;
    }
    double size = exp(agrad_lgamma(x));
    if (x < 0.0 && fmod(floor(x), 2.0) != 0.0) {
        return -size;
    }
    return size;
}

static double agrad_digamma(double x)
{
    if (x == 0.0) {
        return -copysign(INFINITY, x);
    }
    if (x < 0.0 && x == floor(x)) {
        return NAN;
    }
    if (x < 0.0) {
        return agrad_digamma(1.0 - x) - 3.141592653589793/tan(3.141592653589793*fmod(x, 1.0));
    }
    double y = x;
    double sum = 0.0;
    while (y < 12.0) {
        sum = sum - 1.0/y;
        y = y + 1.0;
    }
    double t = 1.0/(y*y);
    double rest = 1.0/12.0 - t*(1.0/120.0 - t*(1.0/252.0 - t*(1.0/240.0 - t*(1.0/132.0 - t*691.0/32760.0))));
    return sum + log(y) - 0.5/y - t*rest;
}

static double agrad_digamma_derivative(double x, double n)
{
    double factor = -1.0;
    double k = 1.0;
    while (k <= n) {
        factor = -factor*k;
        k = k + 1.0;
    }
    if (x <= 0.0 && x == floor(x)) {
        return factor*INFINITY;
    }
    if (x < -1e6) {
        return NAN;
    }
    double y = x;
    double sum = 0.0;
    while (y < 15.0 + n) {
        sum = sum + pow(y, -n - 1.0);
        y = y + 1.0;
    }
    sum = sum + pow(y, -n)/n + 0.5*pow(y, -n - 1.0);
    double t = (n + 1.0)*pow(y, -n - 2.0);
    sum = sum + t/12.0;
    t = t*(n + 2.0)*(n + 3.0)/(y*y);
    sum = sum - t/720.0;
    t = t*(n + 4.0)*(n + 5.0)/(y*y);
    sum = sum + t/30240.0;
    t = t*(n + 6.0)*(n + 7.0)/(y*y);
    sum = sum - t/1209600.0;
    t = t*(n + 8.0)*(n + 9.0)/(y*y);
    return factor*(sum + t/47900160.0);
}

static double agrad_erfcinv(double x)
{
    if (x == 0.0 || x == 2.0) {
        return copysign(INFINITY, 1.0 - x);
    }
    if (x > 1.0) {
        return -agrad_erfcinv(2.0 - x);
    }
    double part = log(x*(2.0 - x));
    double t = 4.330746750799873 + 0.5*part;
    double y = sqrt(sqrt(t*t - part/0.147) - t);
    double k = 0.0;
    while (k < 4.0) {
        double f = (x - erfc(y))/(1.1283791670955126*exp(-y*y));
        y = y - f/(1.0 + y*f);
        k = k + 1.0;
    }
    return y;
}

static double agrad_erfinv(double x)
{
    if (fabs(x) >= 0.5) {
        return copysign(agrad_erfcinv(1.0 - fabs(x)), x);
    }
    double y = 0.886226925452758*x;
    double k = 0.0;
    while (k < 4.0) {
        double f = (erf(y) - x)/(1.1283791670955126*exp(-y*y));
        y = y - f/(1.0 + y*f);
        k = k + 1.0;
    }
    return y;
}

static double agrad_ndtri(double x)
{
    return -1.4142135623730951*agrad_erfcinv(2.0*x);
}

static double agrad_gammaincc(double a, double x)
{
    if (a <= 0.0 || x < 0.0) {
        return NAN;
    }
    if (x < a + 1.0) {
        return 1.0 - agrad_gammainc(a, x);
    }
    if (x == INFINITY) {
        return 0.0;
    }
    double b = x + 1.0 - a;
    double c = 1e300;
    double d = 1.0/b;
    double product = d;
    double change = 0.0;
    double k = 1.0;
    while (change != 1.0 && k < 10000.0) {
        b = b + 2.0;
        d = 1.0/(b - k*(k - a)*d);
        c = b - k*(k - a)/c;
        change = c*d;
        product = product*change;
        k = k + 1.0;
        if (fabs(change - 1.0) < 2e-16) {
            change = 1.0;
        }
    }
    return product*exp(a*log(x) - x - agrad_lgamma(a));
}

static double agrad_gammainc(double a, double x)
{
    if (a <= 0.0 || x < 0.0) {
        return NAN;
    }
    if (x >= a + 1.0) {
        return 1.0 - agrad_gammaincc(a, x);
    }
    if (x == 0.0) {
        return 0.0;
    }
    double part = 1.0/a;
    double sum = part;
    double k = a;
    while (part > sum*1e-17) {
        k = k + 1.0;
        part = part*x/k;
        sum = sum + part;
    }
    return sum*exp(a*log(x) - x - agrad_lgamma(a));
}
