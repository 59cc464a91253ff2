// Fit, goodness of fit, window search and rescoring: compiled once per instruction set.
//
// Only static functions and plain types here: a template of the standard library instantiated in
// this file could be merged with another instruction set's copy by the linker.
#include "engine.hpp"

#include "simd_math.hpp"

namespace paretocut::PARETOCUT_ISA {
namespace {

constexpr double kInfinity = __builtin_inf();

// Passes over a list before the search for its window is stopped. A window takes about three, so
// that lists of a few thousand scores are searched to the end.
constexpr std::int64_t kWork = std::int64_t{1} << 29;
constexpr std::int64_t kPassesAlways = 128;

// Windows narrower than this part of the largest score count as constant.
constexpr double kNarrow = 1e-280;

// Where theta times the mean excess is below this, no earlier root has been seen: two roots need
// excesses of two very different sizes.
constexpr double kSurelyFirst = 16.0;

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

// The profile score h at theta, with its derivatives in log(theta).
struct Profile {
    double h;
    double slope;
    double curvature;
    double k;  // mean log(1 + theta e), the shape that belongs to theta, and its derivatives
    double q;
    double rq;
    double rqq;

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

// One window in the search for the root of its profile score.
struct Search {
    const double* e;
    std::int64_t m;
    double origin;
    std::int32_t evaluations = 0;
    Sums at;  // sums of the last evaluation

    Profile evaluate(double theta) {
        ++evaluations;
        at = sums(e, m, origin, theta);
        return profile(at, m);
    }

    // The rising root of h between lower and upper, by safeguarded third-order steps in log(theta)
    // from theta on; theta 0 if the search ends at a point where h < 0 and falls, with no rising
    // point known below it, or if h does not get to 0.
    Tail root(double theta, double lower, double upper) {
        bool upper_is_positive = upper < kInfinity;
        for (int step = 0; step < 200; ++step) {
            const Profile p = evaluate(theta);
            if (p.h >= 0.0) {
                upper = theta;
                upper_is_positive = true;
            } else if (p.slope > 0.0 || upper_is_positive) {
                lower = theta;
            } else if (lower > 0.0) {
                upper = theta;  // right of a rising point: past the second root
            } else {
                break;
            }
            double next = 0.0;
            if (p.slope > 0.0) {
                const double delta = p.step();
                const double newton = __builtin_fabs(p.h / p.slope);
                next = moved(theta, delta);
                // The step's error is of third order, with a constant that grows as h flattens.
                if (newton < 1e-4 && newton * __builtin_fabs(p.curvature) < 1e-3 * p.slope) {
                    Tail tail;
                    tail.theta = next;
                    tail.shape = p.k + delta * (p.q + delta * (p.rq / 2.0 + delta * p.rqq / 6.0));
                    tail.scale = tail.shape / next;
                    return tail;
                }
            }
            if (!(next > lower && next < upper)) {
                if (lower == 0.0) {
                    next = 0.25 * theta;
                } else if (upper == kInfinity) {
                    next = 4.0 * theta;
                } else {
                    next = __builtin_sqrt(lower) * __builtin_sqrt(upper);
                    if (!(next > lower && next < upper)) {  // flat to the last digit
                        if (!upper_is_positive) break;
                        Tail tail;
                        tail.theta = theta;
                        tail.shape = p.k;
                        tail.scale = p.k / theta;
                        return tail;
                    }
                }
            }
            theta = next;
        }
        return Tail{};
    }

    // The first rising root, found by walking up from where h surely falls; only roots below
    // `limit` matter. theta 0 if there is none.
    Tail first_root(const Moments& moment, double limit) {
        Vec third = splat(0.0);
        const double unit = 1.0 / moment.largest;
        for_each_vector(e, m, origin, [&](Vec excess) __attribute__((always_inline)) {
            const Vec x = excess * unit;
            third = third + x * x * x;
        });
        std::int64_t zeros = 0;
        while (zeros < m && e[zeros] - origin <= 0.0) ++zeros;
        // Above this mean logarithm h is negative for ever.
        const double largest_k = static_cast<double>(m - zeros) / static_cast<double>(zeros);
        const double deficit = 0.5 * moment.mean_square - moment.mean * moment.mean;
        double theta = deficit * static_cast<double>(m) / (4.0 * sum(third)) * unit;
        double before = 0.0;
        bool tried = false;
        while (theta < limit) {
            const Profile p = evaluate(theta);
            if (p.h >= 0.0) return root(theta, before, theta);
            if (p.slope > 0.0 && !tried) {
                const Tail tail = root(theta, theta, kInfinity);
                if (tail.theta > 0.0) return tail;
            }
            tried = p.slope > 0.0;  // once per rise: this one has a top below 0
            if (p.k > largest_k) break;
            before = theta;
            theta *= 2.0;
        }
        return Tail{};
    }
};

// Maximum likelihood under shape >= 0: the first root of the profile score h. `sums_at` holds sums
// of (nearly) this window to start from, or just a theta, and comes back with those of the last
// evaluation.
Tail fit_tail(const double* e, std::int64_t m, double origin, Sums* sums_at,
              std::int32_t* evaluations) {
    const Sums start = *sums_at;
    *sums_at = Sums{};
    const Moments moment = moments(e, m, origin);
    const double square = moment.mean * moment.mean;
    const double mean = moment.mean * moment.largest;
    if (!(moment.mean > 0.0)) return Tail{};
    // The margin stands for shapes below about 1e-10, which rounding cannot tell from 0.
    if (moment.mean_square <= (2.0 + 1e-10) * square) return exponential_tail(mean);

    double theta = start.theta;
    if (start.q > 0.0) {
        const Profile p = profile(start, m);
        if (p.slope > 0.0) theta = moved(theta, p.step());
    } else if (!(theta > 0.0)) {
        const double ratio = square / (moment.mean_square - square);  // mean^2 / variance, below 1
        theta = (1.0 - ratio) / (mean * (1.0 + ratio));
    }
    Search search{e, m, origin, 0, {}};
    Tail tail = search.root(theta, 0.0, kInfinity);
    if (!(tail.theta > 0.0) || tail.theta * mean > kSurelyFirst) {
        const Sums found = search.at;
        const Tail first = search.first_root(moment, tail.theta > 0.0 ? 0.9 * tail.theta : 1e300);
        if (first.theta > 0.0) {
            tail = first;
        } else {
            search.at = found;
        }
    }
    *evaluations += search.evaluations;
    if (tail.theta > 0.0) {
        *sums_at = search.at;
    } else {
        tail = exponential_tail(mean);
        tail.no_interior_root = true;
    }
    return tail;
}

// Surprise of excesses: -log of the survival function. `rate` is 1 / shape, or 1 / scale if
// exponential.
template <bool kExponential>
PARETOCUT_INLINE Vec surprise_of(Vec excess, double theta, double rate) {
    if constexpr (kExponential) return excess * rate;
    return log1p_pos(theta * excess) * rate;
}

double rate_of(const Tail& tail) { return 1.0 / (tail.theta > 0.0 ? tail.shape : tail.scale); }

template <bool kExponential>
double cvm_of(const double* e, std::int64_t m, double origin, const Tail& tail) {
    const double inverse_size = 1.0 / static_cast<double>(m);
    const double theta = tail.theta, rate = rate_of(tail);
    const auto squares = [=](Vec x, Vec position) __attribute__((always_inline)) {
        const Vec y = surprise_of<kExponential>(x, theta, rate);
        const Vec difference = (1.0 - exp_neg(y)) - position * inverse_size;
        return difference * difference;
    };
    Vec position = lane_numbers() + 0.5;
    Vec total = splat(0.0);
    std::int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes) {
        total = total + squares(load(e + i) - origin, position);
        position = position + static_cast<double>(kLanes);
    }
    if (i < m) {
        const Vec last = squares(load(e + i) - origin, position);
        total = total + select(first_lanes(m - i), last, splat(0.0));
    }
    return sum(total) + inverse_size / 12.0;
}

double cvm(const double* e, std::int64_t m, double origin, const Tail& tail) {
    if (!(tail.scale > 0.0)) return kInfinity;
    return tail.theta > 0.0 ? cvm_of<false>(e, m, origin, tail) : cvm_of<true>(e, m, origin, tail);
}

double critical(const GofTable& table, double shape, double m) {
    const auto place = [](const double* grid, std::int64_t n, double x, double* weight) {
        std::int64_t i = 0;
        while (i + 2 < n && grid[i + 1] <= x) ++i;
        const double w = (x - grid[i]) / (grid[i + 1] - grid[i]);
        *weight = w < 0.0 ? 0.0 : (w > 1.0 ? 1.0 : w);
        return i;
    };
    double wx, wm;
    const std::int64_t x = place(table.shape_grid, table.shapes, shape, &wx);
    const std::int64_t y = place(table.inverse_m_grid, table.sizes, 1.0 / m, &wm);
    const double* low = table.critical + x * table.sizes + y;
    const double* high = low + table.sizes;
    return (1.0 - wx) * ((1.0 - wm) * low[0] + wm * low[1]) +
           wx * ((1.0 - wm) * high[0] + wm * high[1]);
}

Selection select_window(const double* e, std::int64_t n, const Options& options) {
    Selection s;
    s.upper = n;
    const std::int64_t most = kWork / n > kPassesAlways ? kWork / n : kPassesAlways;
    Sums at;  // where the last window's search ended
    const auto assess = [&](std::int64_t lower, std::int64_t upper) {
        Tail tail = fit_tail(e + lower, upper - lower, e[lower], &at, &s.evaluations);
        tail.cvm = cvm(e + lower, upper - lower, e[lower], tail);
        ++s.windows;
        return tail;
    };
    // Another window may be tried: it is large enough and the work is not.
    const auto room = [&](std::int64_t size) {
        if (size < options.min_window) return false;
        if (s.windows + s.evaluations >= most) s.limited = true;
        return !s.limited;
    };
    // The window without its smallest score; by threshold stability theta shrinks as it rises.
    const auto raised = [&]() {
        at = Sums{};
        at.theta = s.tail.theta / (1.0 + s.tail.theta * (e[s.lower + 1] - e[s.lower]));
        return assess(s.lower + 1, s.upper);
    };

    s.tail = assess(0, n);
    while (room(s.upper - 1)) {
        at = without(at, e[s.upper - 1] - e[0]);
        const Tail next = assess(0, s.upper - 1);
        if (!(next.cvm < s.tail.cvm)) break;
        s.tail = next;
        --s.upper;
    }
    if (options.gof == nullptr) {
        while (room(s.upper - s.lower - 1)) {
            const Tail next = raised();
            if (!(next.cvm < s.tail.cvm)) break;
            s.tail = next;
            ++s.lower;
        }
    } else {
        const Tail first = s.tail;
        while (!(s.tail.cvm <=
                 critical(*options.gof, s.tail.shape, static_cast<double>(s.upper - s.lower)))) {
            if (!room(s.upper - s.lower - 1)) {  // no threshold is acceptable: leave it as it was
                s.tail = first;
                s.lower = 0;
                break;
            }
            s.tail = raised();
            ++s.lower;
        }
    }
    if (options.refit_all && s.upper < n) {
        at = Sums{};
        at.theta = s.tail.theta;
        s.tail = assess(s.lower, n);
    }
    return s;
}

Tail fit_excesses(const double* e, std::int64_t m) {
    std::int32_t evaluations = 0;
    Sums at;
    Tail tail = fit_tail(e, m, 0.0, &at, &evaluations);
    tail.cvm = cvm(e, m, 0.0, tail);
    return tail;
}

Order inspect(const double* scores, std::int64_t n, double sign) {
    std::int64_t not_finite = 0, rises = 0, falls = 0;
    for (std::int64_t i = 0; i < n; ++i) not_finite |= !(scores[i] - scores[i] == 0.0);
    if (not_finite) return Order::kNotFinite;
    for (std::int64_t i = 1; i < n; ++i) rises |= scores[i] > scores[i - 1];
    for (std::int64_t i = 1; i < n; ++i) falls |= scores[i] < scores[i - 1];
    if (rises && falls) return Order::kUnsorted;
    return (sign > 0.0 ? falls : rises) ? Order::kDescending : Order::kAscending;
}

// out[i] = function(x[i]), eight at a time.
template <class Function>
PARETOCUT_INLINE void map(const double* x, std::int64_t n, double* out, Function function) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + i, function(load(x + i)));
    if (i < n) {
        double rest[kLanes] = {};
        for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
        store(rest, function(load(rest)));
        for (std::int64_t j = i; j < n; ++j) out[j] = rest[j - i];
    }
}

template <bool kExponential>
void rescore_as(const double* scores, std::int64_t n, double factor, double threshold,
                const Tail& tail, double* surprise) {
    const double theta = tail.theta, rate = rate_of(tail);
    map(scores, n, surprise, [=](Vec x) __attribute__((always_inline)) {
        const Vec raw = x * factor - threshold;
        const Vec excess = select(splat(0.0) < raw, raw, splat(0.0));
        return surprise_of<kExponential>(excess, theta, rate);
    });
}

void rescore(const double* scores, std::int64_t n, double factor, double threshold,
             const Tail& tail, double* surprise) {
    const auto run = tail.theta > 0.0 ? rescore_as<false> : rescore_as<true>;
    run(scores, n, factor, threshold, tail, surprise);
}

void log1p_all(const double* x, std::int64_t n, double* out) {
    map(x, n, out, [](Vec v) __attribute__((always_inline)) { return log1p_pos(v); });
}

void exp_neg_all(const double* x, std::int64_t n, double* out) {
    map(x, n, out, [](Vec v) __attribute__((always_inline)) { return exp_neg(v); });
}

}  // namespace

const Engine engine = {inspect, select_window, fit_excesses, rescore, log1p_all, exp_neg_all};

}  // namespace paretocut::PARETOCUT_ISA
