// The profile score of a generalized Pareto tail over one window. Part of engine.cpp.
//
// With theta = shape / scale the likelihood has one free number. Its maximum is the first root of
// the profile score h, which is negative left of it. With x = theta e, k = mean log(1 + x) and
// A = mean 1 / (1 + x), h is negative exactly where 1 / A < 1 + k.
#pragma once

#include "engine.hpp"
#include "simd_math.hpp"

namespace paretocut::PARETOCUT_ISA {
namespace {

constexpr double kInfinity = __builtin_inf();

// Windows narrower than this part of the largest score count as constant.
constexpr double kNarrow = 1e-280;

constexpr double kOctave = 0.6931471805599453;

// Calls body(x) for the excesses of a window over `origin`, eight at a time, zeros filling the
// last.
template <class Body>
PARETOCUT_INLINE void for_each_vector(const double* e, std::int64_t m, double origin, Body body) {
    std::int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes) body(load(e + i) - origin);
    if (i < m) body(select(first_lanes(m - i), load(e + i) - origin, splat(0.0)));
}

// Moments of the excesses of a window, in units of the largest so that squares cannot underflow.
struct Moments {
    double largest;
    double mean;
    double mean_square;
};

Moments moments(const double* e, std::int64_t m, double origin) {
    const double largest = e[m - 1] - origin;
    if (!(largest > kNarrow)) return {0.0, 0.0, 0.0};
    const double unit = 1.0 / largest;
    Vec first = splat(0.0), second = splat(0.0);
    for_each_vector(e, m, origin, [&](Vec excess) __attribute__((always_inline)) {
        const Vec x = excess * unit;
        first = first + x;
        second = second + x * x;
    });
    const double size = static_cast<double>(m);
    return {largest, sum(first) / size, sum(second) / size};
}

// Sums over a window at one theta, with x = theta e and r = 1 / (1 + x).
struct Sums {
    double theta = 0.0;        // 0: no sums
    double log = 0.0;          // log(1 + x)
    double log_minus_q = 0.0;  // log(1 + x) - x r, which near theta = 0 is all that matters
    double q = 0.0;            // x r
    double rq = 0.0;           // x r^2
    double rrq = 0.0;          // x r^3
};

Sums sums(const double* e, std::int64_t m, double origin, double theta) {
    const double largest = theta * (e[m - 1] - origin);
    Vec q = splat(0.0), rq = splat(0.0), rrq = splat(0.0);
    Sums s;
    s.theta = theta;
    if (largest < 0x1p-6) {
        // log(1+x) - x/(1+x) = x^2 (1/2 - 2x/3 + 3x^2/4 - ...), to the last digit for x < 1/64.
        Vec difference = splat(0.0);
        for_each_vector(e, m, origin, [&](Vec excess) __attribute__((always_inline)) {
            const Vec x = theta * excess;
            const Vec r = 1.0 / (1.0 + x);
            const Vec xr = x * r;
            const Vec rxr = r * xr;
            q = q + xr;
            rq = rq + rxr;
            rrq = rrq + r * rxr;
            Vec p = splat(9.0 / 10.0);
            p = 8.0 / 9.0 - x * p;
            p = 7.0 / 8.0 - x * p;
            p = 6.0 / 7.0 - x * p;
            p = 5.0 / 6.0 - x * p;
            p = 4.0 / 5.0 - x * p;
            p = 3.0 / 4.0 - x * p;
            p = 2.0 / 3.0 - x * p;
            p = 1.0 / 2.0 - x * p;
            difference = difference + x * x * p;
        });
        s.q = sum(q);
        s.log_minus_q = sum(difference);
        s.log = s.log_minus_q + s.q;
    } else {
        // The sum of logarithms is the logarithm of a product, whose exponent is taken off often
        // enough not to overflow: one logarithm per lane instead of one per score.
        const int mask = largest < 0x1p100 ? 7 : 0;
        int count = 0;
        Vec product = splat(1.0);
        Int exponent = splat_int(0);
        for_each_vector(e, m, origin, [&](Vec excess) __attribute__((always_inline)) {
            const Vec x = theta * excess;
            const Vec u = 1.0 + x;
            const Vec r = 1.0 / u;
            const Vec xr = x * r;
            const Vec rxr = r * xr;
            q = q + xr;
            rq = rq + rxr;
            rrq = rrq + r * rxr;
            product = product * u;
            if ((count++ & mask) == mask) {
                exponent = exponent + exponent_of(product);
                product = mantissa_of(product);
            }
        });
        const Vec powers = to_double(exponent + exponent_of(product));
        s.q = sum(q);
        s.log = sum(powers) * kLn2Hi + sum(log1p_pos(mantissa_of(product) - 1.0) + powers * kLn2Lo);
        s.log_minus_q = s.log - s.q;
    }
    s.rq = sum(rq);
    s.rrq = sum(rrq);
    return s;
}

// The sums without one excess, good enough to start a search from.
Sums without(const Sums& all, double excess) {
    if (!(all.theta > 0.0)) return Sums{};
    const double x = all.theta * excess;
    const double r = 1.0 / (1.0 + x);
    double log[kLanes];
    store(log, log1p_pos(splat(x)));
    Sums s = all;
    s.log -= log[0];
    s.log_minus_q -= log[0] - x * r;
    s.q -= x * r;
    s.rq -= x * r * r;
    s.rrq -= x * r * r * r;
    return s;
}

// The sums over a window of m without its smallest score, in terms of the next one, which is larger
// by delta: with theta' = theta / (1 + theta delta), 1 + theta' (e - delta) is
// (1 + theta e) / (1 + theta delta). Good enough to start a search from.
Sums raised(const Sums& all, double delta, std::int64_t m) {
    const double factor = 1.0 + all.theta * delta;
    const double others = static_cast<double>(m - 1);
    // Sums of r, r^2 and r^3; the smallest score has r = 1.
    const double r = others + 1.0 - all.q;
    const double rr = r - all.rq;
    const double rrr = rr - all.rrq;
    const double r_ = (r - 1.0) * factor;
    const double rr_ = (rr - 1.0) * factor * factor;
    const double rrr_ = (rrr - 1.0) * factor * factor * factor;
    Sums s;
    s.theta = all.theta / factor;
    s.log = all.log - others * log_of(factor);
    s.q = others - r_;
    s.log_minus_q = s.log - s.q;
    s.rq = r_ - rr_;
    s.rrq = rr_ - rrr_;
    return s;
}

// The profile score h at theta, with its derivatives in log(theta).
struct Profile {
    double h;
    double slope;
    double curvature;
    double k;  // mean log(1 + theta e), the shape that belongs to theta, and its derivatives
    double q;
    double rq;
    double rqq;

    // Whether h, negative here, is so all the way back by this much in log(theta): on the way A
    // rises by at least the integral of rq, which falls no faster than theta, and k falls no
    // faster than now.
    bool negative_back_to(double way) const {
        // 1 - exp(-way) is at least way / (1 + way)
        return ((1.0 - q) * (1.0 + way) + rq * way) * (1.0 + k - q * way) >
               (1.0 + 1e-6) * (1.0 + way);
    }

    // The third-order (Halley) step in log(theta) towards the root, at most 1 either way.
    double step() const {
        const double newton = -h / slope;
        const double delta = newton / (1.0 + 0.5 * newton * curvature / slope);
        return delta > 1.0 ? 1.0 : (delta < -1.0 ? -1.0 : delta);
    }
};

Profile profile(const Sums& s, std::int64_t m) {
    const double inverse = 1.0 / static_cast<double>(m);
    Profile p;
    p.k = s.log * inverse;
    p.q = s.q * inverse;
    p.rq = s.rq * inverse;
    p.rqq = 2.0 * s.rrq * inverse - p.rq;
    const double a = 1.0 - p.q;
    p.h = p.q * p.k - s.log_minus_q * inverse;
    p.slope = p.rq * (1.0 + p.k) - a * p.q;
    p.curvature = p.rqq * (1.0 + p.k) + p.rq * (2.0 - 3.0 * a);
    return p;
}

// theta * exp(delta), to third order in delta like the step itself.
double moved(double theta, double delta) { return theta * (2.0 + delta) / (2.0 - delta); }

Tail exponential_tail(double mean) {
    Tail tail;
    tail.scale = mean;
    return tail;
}

}  // namespace
}  // namespace paretocut::PARETOCUT_ISA
