#include <math.h>

/* def f(x, y) = x**2*sin(y)
   grad: the derivatives by x, y */
double f(double x, double y, double grad[2])
{
    const double t0 = x*x;
    const double t1 = sin(y);
    grad[0] = 2.0*t1*x;
    grad[1] = t0*cos(y);
    return t0*t1;
}
