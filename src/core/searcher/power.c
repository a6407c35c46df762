#include "core/searcher/power.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Computes ln x by the method of FreeBSD's e_log.c. x is written as 2^k (1 + f) with 1 + f next to 1. Then ln(1 + f) =
 * 2 atanh(s) with s = f / (2 + f), and a Remez polynomial in s² takes the place of the series of atanh. */
double natural_log(double x)
{
    static const double c[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                               2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                               1.479819860511658591e-01};
    static const double upper_ln2 = 6.93147180369123816490e-01, lower_ln2 = 1.90821492927058770002e-10;
    int k;
    double m = frexp(x, &k);
    if (m < M_SQRT1_2) {
        m *= 2;
        k--;
    }
    double f = m - 1, s = f / (2 + f), s2 = s * s, s4 = s2 * s2, half_f2 = 0.5 * f * f;
    double odd = s2 * (c[0] + s4 * (c[2] + s4 * (c[4] + s4 * c[6])));
    double even = s4 * (c[1] + s4 * (c[3] + s4 * c[5]));
    return k * upper_ln2 - ((half_f2 - (s * (half_f2 + (odd + even)) + k * lower_ln2)) - f);
}

/* Computes e^x for a small x by the method of N. Shibata, "Efficient evaluation methods of elementary functions
 * suitable for SIMD computation" (ISC 2010). The powers of two are taken out, the rest is divided by 16, e^x - 1 is
 * computed by its Taylor series to the 8th degree, and the result is squared four times. Fused operations are used so
 * that the result is the same on every machine. */
static double exp_by_shibata(double x)
{
    static const double upper_ln2 = 0.69314718055966295651160180568695068359375;
    static const double lower_ln2 = 0.28235290563031577122588448175013436025525412068e-12;
    static const double inverse_factorials[] = {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                                1.0 / 24,    1.0 / 6,    0.5,       1.0};
    double doublings = rint(x * M_LOG2E);
    double r = fma(-doublings, upper_ln2, x);
    r = fma(-doublings, lower_ln2, r) / 16;
    double sum = inverse_factorials[0];
    for (int i = 1; i < 8; i++)
        sum = fma(sum, r, inverse_factorials[i]);
    double minus_one = r * sum; /* e^r - 1, which is squared by (e^r)² - 1 = (e^r - 1)(e^r - 1 + 2) */
    for (int i = 0; i < 3; i++)
        minus_one *= minus_one + 2;
    return ldexp(fma(minus_one, minus_one + 2, 1), (int)doublings);
}

/* The whole part of |y| is computed by repeated squaring, the fraction by exp and log. */
double power(double base, double y)
{
    double whole, fraction = modf(fabs(y), &whole), result = 1;
    int exponent = 0, base_exponent;
    double mantissa = frexp(base, &base_exponent);
    if (fraction > 0.5) {
        fraction -= 1;
        whole += 1;
    }
    if (whole >= 0x1p63) /* `whole` is too large for a loop over its bits; the result is one of these three */
        return base == 1 ? 1 : (base < 1) == (y > 0) ? 0 : HUGE_VAL;
    if (fraction != 0)
        result = exp_by_shibata(fraction * natural_log(base));
    for (uint64_t bits = (uint64_t)whole; bits != 0; bits >>= 1) {
        if (abs(base_exponent) > 1 << 12) { /* the result is beyond the range of a double, so the loop can end */
            exponent += base_exponent;
            break;
        }
        if (bits & 1) {
            result *= mantissa;
            exponent += base_exponent;
        }
        mantissa *= mantissa;
        base_exponent *= 2;
        if (mantissa < 0.5) {
            mantissa += mantissa;
            base_exponent--;
        }
    }
    return y < 0 ? ldexp(1 / result, -exponent) : ldexp(result, exponent);
}
