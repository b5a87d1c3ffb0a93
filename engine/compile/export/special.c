/* Special functions that C99, JavaScript and Python's `math` lack: `special.py` makes the two others of this one.

   Each statement has a line of its own, so that a few replacements make JavaScript or Python of it. Sums are taken to
   full precision: Stirling's series and that of digamma from 12 on, Euler and Maclaurin's formula, the series and the
   continued fraction of the incomplete gamma function (5.11, 5.15, 25.11, 8.9 and 8.11 in the Digital Library of
   Mathematical Functions), differences of their terms for those of digamma and lgamma, Gauss's rule for the mixed
   derivative of beta (see `ops/scalar/special.py`), the continued fractions of the incomplete beta function and of erfc,
   and Newton's method with the second derivative for the inverses of erf. Bessel functions of orders up to a million:
   the trapezoidal rule for Sommerfeld's integral of H = J + iY along a path of steep descent, and for those of I and K
   (10.9.17, 10.32.3 and 10.32.9), which converges exponentially; the series near 0; recurrences between orders (10.74).

   JavaScript lacks erf and erfc, too: the series 2/sqrt(pi)*exp(-x**2)*sum(2**k*x**(2*k + 1)/(2*k + 1)!!), whose terms
   are all positive, and Laplace's continued fraction of erfc (7.6.2 and 7.9.2 there). The square in the exponent is taken
   in two parts: rounded as one, it would cost a large x its last digits. */

static double agrad_erf_near(double x)
{
    double term = x;
    double sum = x;
    double k = 1.0;
    while (fabs(term) > 1e-18*fabs(sum)) {
        term = term*2.0*x*x/(2.0*k + 1.0);
        sum = sum + term;
        k = k + 1.0;
    }
    return 1.1283791670955126*sum*exp(-x*x);
}

static double agrad_erf(double x)
{
    if (x < 0.0) {
        return -agrad_erf(-x);
    }
    if (x > 6.0) {
        return 1.0;
    }
    if (x > 1.5) {
        return 1.0 - agrad_erfc(x);
    }
    return agrad_erf_near(x);
}

static double agrad_erfc(double x)
{
    if (x < -6.0) {
        return 2.0;
    }
    if (x < 0.75) {
        return 1.0 - agrad_erf_near(x);
    }
    if (x > 28.0) {
        return 0.0;
    }
    double fraction = x;
    double k = 20.0 + ceil(200.0/(x*x));
    while (k > 0.0) {
        fraction = x + 0.5*k/fraction;
        k = k - 1.0;
    }
    double near = floor(x*4096.0)/4096.0;
    return 0.5641895835477563/fraction*exp(-near*near)*exp((near - x)*(near + x));
}

static double agrad_lgamma_difference(double y, double x)
{
    double sum = agrad_power_difference(y, x, 1.0)/12.0 - agrad_power_difference(y, x, 3.0)/360.0;
    sum = sum + agrad_power_difference(y, x, 5.0)/1260.0 - agrad_power_difference(y, x, 7.0)/1680.0;
    sum = sum + agrad_power_difference(y, x, 9.0)/1188.0 - agrad_power_difference(y, x, 11.0)*691.0/360360.0;
    return sum + (y + x - 0.5)*log1p(x/y) + x*(log(y) - 1.0);
}

static double agrad_lgamma_of_next(double x)
{
    double sum = agrad_lgamma_difference(20.0, x);
    double k = 1.0;
    while (k < 20.0) {
        sum = sum - log1p(x/k);
        k = k + 1.0;
    }
    return sum;
}

static double agrad_lgamma(double x)
{
    if (x <= 0.0 && x == floor(x)) {
        return INFINITY;
    }
    if (fabs(x) < 1e-300) {
        return -log(fabs(x));
    }
    if (fabs(x - 1.0) < 0.25) {
        return agrad_lgamma_of_next(x - 1.0);
    }
    if (fabs(x - 2.0) < 0.25) {
        return log1p(x - 2.0) + agrad_lgamma_of_next(x - 2.0);
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

static double agrad_gamma_sign(double x)
{
    if (x < 0.0 && fmod(floor(x), 2.0) != 0.0) {
        return -1.0;
    }
    return 1.0;
}

static double agrad_gamma(double x)
{
    if (x == 0.0) {
        return copysign(INFINITY, x);
    }
    if (x < 0.0 && x == floor(x)) {
        return NAN;
    }
    return agrad_gamma_sign(x)*exp(agrad_lgamma(x));
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

static double agrad_gammaincc_small(double a, double x)
{
    double power = a*log(x) - agrad_lgamma_of_next(a);
    double part = 1.0;
    double sum = 0.0;
    double k = 1.0;
    while (k < 40.0) {
        part = -part*x/k;
        sum = sum + part/(a + k);
        k = k + 1.0;
    }
    return -expm1(power) - a*exp(power)*sum;
}

static double agrad_gammainc_large(double a, double x)
{
    double m = (x - a)/a;
    double half = m - log1p(m);
    if (fabs(m) < 0.1) {
        double part = m*m;
        double k = 2.0;
        half = 0.0;
        while (k < 20.0) {
            half = half + part/k;
            part = -part*m;
            k = k + 1.0;
        }
    }
    double distance = copysign(sqrt(2.0*half), m);
    double first = -1.0/3.0 + distance*(1.0/12.0 - distance*(2.0/135.0 - distance*(1.0/864.0 + distance/2835.0)));
    if (fabs(distance) > 0.01) {
        first = 1.0/m - 1.0/distance;
    }
    return 0.5*erfc(-distance*sqrt(0.5*a)) - exp(-a*half)*first/sqrt(6.283185307179586*a);
}

static double agrad_gammaincc(double a, double x)
{
    if (a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) || a != a || x != x) {
        return NAN;
    }
    if (a == 0.0) {
        return 0.0;
    }
    if (a > 1e6) {
        return 1.0 - agrad_gammainc(a, x);
    }
    if (x < a + 1.0 && a < 0.25) {
        return agrad_gammaincc_small(a, x);
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
    if (a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) || a != a || x != x) {
        return NAN;
    }
    if (a == 0.0 || (x == INFINITY && a < INFINITY)) {
        return 1.0;
    }
    if (a == INFINITY && x < INFINITY) {
        return 0.0;
    }
    if (a > 1e6) {
        return agrad_gammainc_large(a, x);
    }
    if (x >= a + 1.0) {
        return 1.0 - agrad_gammaincc(a, x);
    }
    if (x == 0.0) {
        return 0.0;
    }
    double part = 1.0;
    double sum = part;
    double k = a;
    while (part > sum*1e-17) {
        k = k + 1.0;
        part = part*x/k;
        sum = sum + part;
    }
    return sum*exp(a*log(x) - x - agrad_lgamma(a + 1.0));
}

static double agrad_power_difference(double x, double d, double m)
{
    if (m == 1.0) {
        return -d/(x*(x + d));
    }
    return expm1(-m*log1p(d/x))*pow(x, -m);
}

static double agrad_digamma_difference(double x, double d, double n)
{
    if (x == 0.0 && d > 0.0 && n == 0.0) {
        return copysign(INFINITY, x);
    }
    if ((x <= 0.0 && x == floor(x)) || (x + d <= 0.0 && x + d == floor(x + d))) {
        return NAN;
    }
    if ((x < 0.0 || x + d < 0.0) && n == 0.0) {
        return agrad_digamma(x + d) - agrad_digamma(x);
    }
    if (x < 0.0 || x + d < 0.0) {
        return agrad_digamma_derivative(x + d, n) - agrad_digamma_derivative(x, n);
    }
    double product = 1.0;
    double sign = 1.0;
    double k = 1.0;
    while (k <= n) {
        product = product*k;
        sign = -sign;
        k = k + 1.0;
    }
    double y = x;
    double sum = 0.0;
    k = 0.0;
    while (k < 20.0 + 2.0*n) {
        sum = sum - product*agrad_power_difference(y, d, n + 1.0);
        y = y + 1.0;
        k = k + 1.0;
    }
    double first = log1p(d/y);
    if (n > 0.0) {
        first = -product/n*agrad_power_difference(y, d, n);
    }
    sum = sum + first - 0.5*product*agrad_power_difference(y, d, n + 1.0);
    double t = product*(n + 1.0);
    sum = sum - t/12.0*agrad_power_difference(y, d, n + 2.0);
    t = t*(n + 2.0)*(n + 3.0);
    sum = sum + t/720.0*agrad_power_difference(y, d, n + 4.0);
    t = t*(n + 4.0)*(n + 5.0);
    sum = sum - t/30240.0*agrad_power_difference(y, d, n + 6.0);
    t = t*(n + 6.0)*(n + 7.0);
    sum = sum + t/1209600.0*agrad_power_difference(y, d, n + 8.0);
    t = t*(n + 8.0)*(n + 9.0);
    return sign*(sum - t/47900160.0*agrad_power_difference(y, d, n + 10.0));
}

static double agrad_lbeta(double x, double y)
{
    if (x != x || y != y) {
        return NAN;
    }
    if (x > y) {
        return agrad_lbeta(y, x);
    }
    if (x < 0.0 && x == floor(x) && y == floor(y) && 1.0 - x - y > 0.0) {
        return agrad_lbeta(1.0 - x - y, y);
    }
    if (x < 0.0) {
        return agrad_lgamma(x) + agrad_lgamma(y) - agrad_lgamma(x + y);
    }
    if (x == 0.0) {
        return INFINITY;
    }
    if (y == INFINITY) {
        return -INFINITY;
    }
    if (y <= 20.0) {
        return agrad_lgamma(x) + agrad_lgamma(y) - agrad_lgamma(x + y);
    }
    return agrad_lgamma(x) - agrad_lgamma_difference(y, x);
}

static double agrad_beta(double x, double y)
{
    double size = exp(agrad_lbeta(x, y));
    if (size == INFINITY) {
        return size;
    }
    return agrad_gamma_sign(x)*agrad_gamma_sign(y)*agrad_gamma_sign(x + y)*size;
}

static double agrad_beta_slope(double x, double y)
{
    return -agrad_beta(x, y)*agrad_digamma_difference(x, y, 0.0);
}

static double agrad_beta_part(double x, double y, double u, double weight)
{
    return -weight*u*x*agrad_digamma_derivative(y + u*x, 2.0);
}

static double agrad_beta_mixed(double x, double y)
{
    if (x == 0.0 || y == 0.0) {
        return NAN;
    }
    if (x < 0.0 || y < 0.0) {
        double both = agrad_digamma_difference(x, y, 0.0)*agrad_digamma_difference(y, x, 0.0);
        return agrad_beta(x, y)*(both - agrad_digamma_derivative(x + y, 1.0));
    }
    if (x < 1.0 && y < 1.0) {
        return agrad_beta_mixed(x + 1.0, y) + agrad_beta_mixed(x, y + 1.0);
    }
    if (x > y) {
        return agrad_beta_mixed(y, x);
    }
    double sum = agrad_beta_part(x, y, 0.013046735741414128, 0.03333567215434407);
    sum = sum + agrad_beta_part(x, y, 0.06746831665550773, 0.0747256745752902);
    sum = sum + agrad_beta_part(x, y, 0.16029521585048778, 0.109543181257991);
    sum = sum + agrad_beta_part(x, y, 0.2833023029353764, 0.13463335965499826);
    sum = sum + agrad_beta_part(x, y, 0.4255628305091844, 0.1477621123573764);
    sum = sum + agrad_beta_part(x, y, 0.5744371694908156, 0.1477621123573764);
    sum = sum + agrad_beta_part(x, y, 0.7166976970646236, 0.13463335965499826);
    sum = sum + agrad_beta_part(x, y, 0.8397047841495122, 0.109543181257991);
    sum = sum + agrad_beta_part(x, y, 0.9325316833444923, 0.0747256745752902);
    sum = sum + agrad_beta_part(x, y, 0.9869532642585859, 0.03333567215434407);
    double above = agrad_digamma_derivative(x + y, 1.0)*agrad_digamma_difference(x + 1.0, y - 1.0, 0.0);
    return agrad_beta(x, y)*x*(above + agrad_digamma_difference(x, y, 0.0)*sum);
}

static double agrad_rgamma(double x)
{
    if (x <= 0.0 && x == floor(x)) {
        return 0.0;
    }
    double size = exp(-agrad_lgamma(x));
    if (x < 0.0 && fmod(floor(x), 2.0) != 0.0) {
        return -size;
    }
    return size;
}

static double agrad_reciprocal_gamma_derivative(double x, double n)
{
    if (n == 0.0) {
        return agrad_rgamma(x);
    }
    if (x < -199.0) {
        return NAN;
    }
    if (x > 180.0) {
        return 0.0;
    }
    if (x < 1.0) {
        return x*agrad_reciprocal_gamma_derivative(x + 1.0, n) + n*agrad_reciprocal_gamma_derivative(x + 1.0, n - 1.0);
    }
    double sum = agrad_digamma(x)*agrad_reciprocal_gamma_derivative(x, n - 1.0);
    double choices = 1.0;
    double k = 1.0;
    while (k < n) {
        choices = choices*(n - k)/k;
        sum = sum + choices*agrad_digamma_derivative(x, k)*agrad_reciprocal_gamma_derivative(x, n - 1.0 - k);
        k = k + 1.0;
    }
    return -sum;
}

static double agrad_comb(double n, double k)
{
    if (n < 0.0 || k < 0.0 || n != n || k != k || n + k == INFINITY) {
        return NAN;
    }
    if (n == floor(n) && k == floor(k)) {
        if (k > n) {
            return 0.0;
        }
        double fewest = k;
        if (n - k < k) {
            fewest = n - k;
        }
        if (fewest > 1000.0) {
            return INFINITY;
        }
        double found = 1.0;
        double i = 1.0;
        while (i <= fewest && found < 1e300) {
            found = found*(n - fewest + i)/i;
            i = i + 1.0;
        }
        while (i <= fewest) {
            found = found/i*(n - fewest + i);
            i = i + 1.0;
        }
        return found;
    }
    if (k > n) {
        return sin(3.141592653589793*fmod(k - n, 2.0))/3.141592653589793*agrad_beta(n + 1.0, k - n);
    }
    double size = -agrad_lbeta(n - k + 1.0, k + 1.0);
    if (size > 700.0) {
        return exp(size - log(n + 1.0));
    }
    return exp(size)/(n + 1.0);
}

static double agrad_perm(double n, double k)
{
    if (n < 0.0 || k < 0.0 || n != n || k != k || n + k == INFINITY) {
        return NAN;
    }
    if (n == floor(n) && k == floor(k)) {
        if (k > n) {
            return 0.0;
        }
        double found = 1.0;
        double i = 0.0;
        while (i < k && found < INFINITY) {
            found = found*(n - i);
            i = i + 1.0;
        }
        return found;
    }
    if (k > n) {
        double sine = sin(3.141592653589793*fmod(k - n, 2.0))/3.141592653589793;
        return sine*exp(agrad_lgamma(n + 1.0) + agrad_lgamma(k - n));
    }
    double size = agrad_lgamma(k + 1.0) - agrad_lbeta(n - k + 1.0, k + 1.0);
    if (size > 700.0) {
        return exp(size - log(n + 1.0));
    }
    return exp(size)/(n + 1.0);
}

static double agrad_log_ndtr(double x)
{
    if (x > -1.0) {
        return log1p(-0.5*erfc(0.7071067811865476*x));
    }
    return -0.5*x*x - 0.9189385332046727 - log(agrad_normal_hazard(x));
}

static double agrad_normal_hazard(double x)
{
    if (x > -4.0) {
        return 0.7978845608028654*exp(-0.5*x*x)/erfc(-0.7071067811865476*x);
    }
    double fraction = -x;
    double k = 120.0;
    while (k > 0.0) {
        fraction = k/fraction - x;
        k = k - 1.0;
    }
    return fraction;
}

static double agrad_hazard_slope(double x)
{
    if (x > -4.0) {
        double hazard = agrad_normal_hazard(x);
        return -hazard*(x + hazard);
    }
    double fraction = -x;
    double k = 120.0;
    while (k > 2.0) {
        fraction = k/fraction - x;
        k = k - 1.0;
    }
    double second = 2.0/fraction;
    double first = 1.0/(second - x);
    return first*(second - first) - 1.0;
}

static double agrad_logit(double x)
{
    if (x == 1.0) {
        return INFINITY;
    }
    if (fabs(x - 0.5) < 0.25) {
        return log1p((2.0*x - 1.0)/(1.0 - x));
    }
    return log(x/(1.0 - x));
}

static double agrad_entr(double x)
{
    if (x == 0.0) {
        return 0.0;
    }
    if (x < 0.0) {
        return -INFINITY;
    }
    return -x*log(x);
}

static double agrad_betainc(double a, double b, double x)
{
    if (a <= 0.0 || b <= 0.0 || x < 0.0 || x > 1.0 || x != x) {
        return NAN;
    }
    if (x == 0.0 || x == 1.0) {
        return x;
    }
    if (x > (a + 1.0)/(a + b + 2.0)) {
        return 1.0 - agrad_betainc(b, a, 1.0 - x);
    }
    double c = 1.0;
    double d = 1.0/(1.0 - (a + b)*x/(a + 1.0));
    double product = d;
    double change = 0.0;
    double k = 1.0;
    while (change != 1.0 && k < 10000.0) {
        double t = k*(b - k)*x/((a + 2.0*k - 1.0)*(a + 2.0*k));
        d = 1.0/(1.0 + t*d);
        c = 1.0 + t/c;
        product = product*(d*c);
        t = -(a + k)*(a + b + k)*x/((a + 2.0*k)*(a + 2.0*k + 1.0));
        d = 1.0/(1.0 + t*d);
        c = 1.0 + t/c;
        change = d*c;
        product = product*change;
        k = k + 1.0;
        if (fabs(change - 1.0) < 2e-16) {
            change = 1.0;
        }
    }
    return product*exp(a*log(x) + b*log1p(-x) - agrad_lbeta(a, b))/a;
}

static double agrad_hankel(double x, double v, double is_second)
{
    double step = 0.09;
    double end = 5.3 - log(x);
    if (x > 1.0) {
        step = 0.09/sqrt(0.2 + 0.2*x);
        end = asinh(100.0/x) + 6.0/sqrt(x);
    }
    double sum = 0.0;
    double u = -step*ceil(end/step);
    while (u < end) {
        double angle = 1.5707963267948966*tanh(u);
        double over = x*sinh(u);
        if (fabs(u) > 20.0) {
            over = copysign(0.5*exp(fabs(u) + log(x)), u);
        }
        double half = sinh(0.5*u)*sqrt(cos(angle));
        double turn = -v*(angle + 1.5707963267948966);
        if (fabs(u) < 20.0) {
            turn = turn + 2.0*x*(half*half - sin(0.5*angle)*sin(0.5*angle));
        }
        double real = cos(turn)*cos(x) - sin(turn)*sin(x);
        double imaginary = sin(turn)*cos(x) + cos(turn)*sin(x);
        double slope = 1.5707963267948966*(1.0 - tanh(u)*tanh(u));
        double part = imaginary + slope*real;
        if (is_second > 0.0) {
            part = slope*imaginary - real;
        }
        sum = sum + part*exp(-over*sin(angle) - v*u);
        u = u + step;
    }
    return sum*step/3.141592653589793;
}

static double agrad_bessel_series(double x, double v, double sign)
{
    double part = pow(0.5*x, v)*agrad_rgamma(v + 1.0);
    if (v > 100.0) {
        part = exp(v*log(0.5*x) - agrad_lgamma(v + 1.0));
    }
    if (x == 0.0 || fabs(part) == INFINITY) {
        return part;
    }
    double sum = part;
    double k = 1.0;
    while (fabs(part) > 1e-17*fabs(sum) || k*(k + v) < 0.25*x*x) {
        part = sign*part*(0.5*x/k)*(0.5*x/(k + v));
        sum = sum + part;
        k = k + 1.0;
    }
    return sum;
}

static double agrad_bessel_ratio(double x, double v, double low, double sign)
{
    double least = floor(v - low + 0.5);
    double k = least + ceil(40.0 + 7.0*sqrt(v + x));
    double here = 1e-300;
    double above = 0.0;
    double found = 0.0;
    while (k > 0.0) {
        double below = 2.0*(low + k)/x*here - sign*above;
        above = here;
        here = below;
        k = k - 1.0;
        if (k == least) {
            found = here;
        }
    }
    return found/here;
}

static double agrad_cosine(double turns)
{
    double part = fabs(fmod(turns, 2.0));
    if (part == 0.5 || part == 1.5) {
        return 0.0;
    }
    return cos(3.141592653589793*part);
}

static double agrad_bessel_jv(double x, double v)
{
    double is_whole = 1.0;
    if (v != floor(v)) {
        is_whole = 0.0;
    }
    if (fabs(v) > 1e6 || x != x || (x < 0.0 && is_whole == 0.0)) {
        return NAN;
    }
    if (is_whole == 1.0 && (x < 0.0 || v < 0.0)) {
        double sign = 1.0;
        if ((x < 0.0 && v >= 0.0) || (x >= 0.0 && v < 0.0)) {
            sign = 1.0 - 2.0*fmod(fabs(v), 2.0);
        }
        return sign*agrad_bessel_jv(fabs(x), fabs(v));
    }
    if (x == INFINITY) {
        return 0.0;
    }
    if (0.25*x*x <= fabs(v + 1.0)) {
        return agrad_bessel_series(x, v, -1.0);
    }
    if (v < 0.0) {
        return agrad_cosine(-v)*agrad_bessel_jv(x, -v) - agrad_cosine(-v - 0.5)*agrad_bessel_yv(x, -v);
    }
    if (v < 2.0) {
        return agrad_hankel(x, v, 0.0);
    }
    double low = v - floor(v);
    double first = agrad_hankel(x, low, 0.0);
    double second = agrad_hankel(x, low + 1.0, 0.0);
    if (v <= x) {
        return agrad_bessel_up(x, v, first, second);
    }
    if (fabs(first) > fabs(second)) {
        return first*agrad_bessel_ratio(x, v, low, 1.0);
    }
    return second*agrad_bessel_ratio(x, v, low + 1.0, 1.0);
}

static double agrad_bessel_up(double x, double v, double first, double second)
{
    double low = v - floor(v);
    double k = 1.0;
    double below = first;
    double here = second;
    while (k < floor(v) && fabs(here) < INFINITY) {
        double above = 2.0*(low + k)/x*here - below;
        below = here;
        here = above;
        k = k + 1.0;
    }
    return here;
}

static double agrad_bessel_yv(double x, double v)
{
    if (fabs(v) > 1e6 || x < 0.0 || x != x) {
        return NAN;
    }
    if (x == INFINITY) {
        return 0.0;
    }
    if (v < 0.0 && v == floor(v)) {
        return (1.0 - 2.0*fmod(-v, 2.0))*agrad_bessel_yv(x, -v);
    }
    if (v < 0.0 && agrad_cosine(-v) == 0.0) {
        return agrad_cosine(-v - 0.5)*agrad_bessel_jv(x, -v);
    }
    if (x == 0.0) {
        return -INFINITY;
    }
    if (v < 0.0) {
        return agrad_cosine(-v - 0.5)*agrad_bessel_jv(x, -v) + agrad_cosine(-v)*agrad_bessel_yv(x, -v);
    }
    if (v < 2.0) {
        return agrad_hankel(x, v, 1.0);
    }
    double low = v - floor(v);
    return agrad_bessel_up(x, v, agrad_hankel(x, low, 1.0), agrad_hankel(x, low + 1.0, 1.0));
}

static double agrad_bessel_far(double x, double v, double n)
{
    double step = 0.4/sqrt(x);
    double sum = 0.0;
    if (n == 0.0) {
        sum = 0.5;
    }
    double angle = step;
    double depth = 0.0;
    while (angle < 3.141592653589793 && x*depth < 50.0) {
        depth = 2.0*sin(0.5*angle)*sin(0.5*angle);
        sum = sum + exp(-x*depth)*pow(-depth, n)*cos(v*angle);
        angle = angle + step;
    }
    return sum*step/3.141592653589793;
}

static double agrad_bessel_ive(double x, double v, double n)
{
    if (fabs(v) > 1e6 || x != x || (x < 0.0 && v != floor(v))) {
        return NAN;
    }
    if (x < 0.0) {
        return (1.0 - 2.0*fmod(fabs(v) + n, 2.0))*agrad_bessel_ive(-x, v, n);
    }
    if (v < 0.0 && v == floor(v)) {
        return agrad_bessel_ive(x, -v, n);
    }
    if (x == INFINITY) {
        return 0.0;
    }
    if (x > 20.0 && v*v < 16.0*x) {
        return agrad_bessel_far(x, v, n);
    }
    if (n > 0.0) {
        double beside = 0.5*(agrad_bessel_ive(x, v - 1.0, n - 1.0) + agrad_bessel_ive(x, v + 1.0, n - 1.0));
        if (x == 0.0) {
            return beside;
        }
        return beside - agrad_bessel_ive(x, v, n - 1.0);
    }
    if (v < 0.0 && x > 2.0) {
        double other = 0.6366197723675814*agrad_cosine(-v - 0.5)*agrad_bessel_kve(x, v, 0.0);
        return agrad_bessel_ive(x, -v, 0.0) + other*exp(-2.0*x);
    }
    if (x > 700.0) {
        double low = v - floor(v);
        return agrad_bessel_far(x, low, 0.0)*agrad_bessel_ratio(x, v, low, -1.0);
    }
    return exp(-x)*agrad_bessel_series(x, v, 1.0);
}

static double agrad_bessel_iv(double x, double v)
{
    if (fabs(x) < 20.0) {
        return exp(fabs(x))*agrad_bessel_ive(x, v, 0.0);
    }
    if (fabs(x) == INFINITY) {
        return fabs(x)*agrad_bessel_ive(copysign(1.0, x), v, 0.0);
    }
    return exp(0.5*fabs(x))*agrad_bessel_ive(x, v, 0.0)*exp(0.5*fabs(x));
}

static double agrad_modified(double x, double v, double n, double shift)
{
    if (fabs(v) > 1e6 || x < 0.0 || x != x) {
        return NAN;
    }
    double sign = 1.0 - 2.0*fmod(n, 2.0);
    if (x == 0.0) {
        return sign*INFINITY;
    }
    if (x == INFINITY) {
        return 0.0;
    }
    double order = fabs(v);
    double end = log(2.0*order + 200.0) - log(x) + 1.0;
    if (x > 1.0) {
        end = asinh((order + 100.0)/x) + 6.0/sqrt(x) + 1.0;
    }
    double step = 0.09/sqrt(1.0 + 0.04*hypot(x, v));
    double sum = 0.0;
    if (n == 0.0) {
        sum = 0.5*exp(-shift);
    }
    double u = step;
    double part = 1.0;
    while (u < end && (part > 0.0 || u < asinh(order/x))) {
        double height = 2.0*sinh(0.5*u)*sinh(0.5*u);
        double over = x*height;
        if (u > 20.0) {
            over = 0.5*exp(u + log(x)) - x;
        }
        part = 0.5*(exp(order*u - over - shift) + exp(-order*u - over - shift));
        if (n > 0.0) {
            part = part*pow(height, n);
        }
        sum = sum + part;
        u = u + step;
    }
    return sign*step*sum;
}

static double agrad_bessel_kve(double x, double v, double n)
{
    return agrad_modified(x, v, n, 0.0);
}

static double agrad_bessel_kv(double x, double v)
{
    return agrad_modified(x, v, 0.0, x);
}

static double agrad_bessel_j(double x, double n)
{
    return agrad_bessel_jv(x, n);
}

static double agrad_bessel_i(double x, double n)
{
    return agrad_bessel_iv(x, n);
}

static double agrad_j0(double x)
{
    return agrad_bessel_jv(x, 0.0);
}

static double agrad_j1(double x)
{
    return agrad_bessel_jv(x, 1.0);
}

static double agrad_i0(double x)
{
    return agrad_bessel_iv(x, 0.0);
}

static double agrad_i1(double x)
{
    return agrad_bessel_iv(x, 1.0);
}
