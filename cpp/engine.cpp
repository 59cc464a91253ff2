// Fit, goodness of fit, window search and rescoring: compiled once per instruction set.
//
// Only static functions and plain types here: a template of the standard library instantiated in
// this file could be merged with another instruction set's copy by the linker.
#include "engine.hpp"

#include "simd_math.hpp"

namespace paretocut::PARETOCUT_ISA {
namespace {

constexpr double kInfinity = __builtin_inf();

// Windows searched in one list before the search is stopped: never reached below 16,384 scores.
constexpr std::int64_t kWindowWork = std::int64_t{1} << 28;
constexpr std::int64_t kWindowsAlways = 64;

// Calls body(x) for the excesses of a window over `origin`, eight at a time, zeros filling the last.
template <class Body>
PARETOCUT_INLINE void for_each_vector(const double* e, std::int64_t m, double origin, Body body) {
    std::int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes) body(load(e + i) - origin);
    if (i < m) {
        const Vec x = load(e + i) - origin;
        body(select(first_lanes(m - i), x, splat(0.0)));
    }
}

struct Moments {
    double mean;
    double mean_square;
};

Moments moments(const double* e, std::int64_t m, double origin) {
    Vec first = splat(0.0), second = splat(0.0);
    for_each_vector(e, m, origin, [&](Vec x) __attribute__((always_inline)) {
        first += x;
        second += x * x;
    });
    const double size = static_cast<double>(m);
    return {sum(first) / size, sum(second) / size};
}

// The profile score h at theta and what a third-order step needs; derivatives are in log(theta).
struct Profile {
    double h;
    double slope;
    double curvature;
    double k;   // mean log(1 + theta e): the shape that belongs to theta
    double q;   // mean theta e / (1 + theta e) = dk / dlog(theta)
    double rq;  // dq / dlog(theta)
};

Profile profile(const double* e, std::int64_t m, double origin, double theta) {
    const double size = static_cast<double>(m);
    const double largest = theta * (e[m - 1] - origin);
    Vec q = splat(0.0), rq = splat(0.0), rrq = splat(0.0);
    double k_minus_q;  // kept apart from q: near theta = 0 their difference is all that matters
    double k;
    if (largest < 0x1p-6) {
        // log(1+x) - x/(1+x) = x^2 (1/2 - 2x/3 + 3x^2/4 - ...), to the last digit for x < 1/64.
        Vec difference = splat(0.0);
        for_each_vector(e, m, origin, [&](Vec excess) __attribute__((always_inline)) {
            const Vec x = theta * excess;
            const Vec r = 1.0 / (1.0 + x);
            const Vec xr = x * r;
            q += xr;
            rq += r * xr;
            rrq += r * r * xr;
            Vec p = splat(9.0 / 10.0);
            p = 8.0 / 9.0 - x * p;
            p = 7.0 / 8.0 - x * p;
            p = 6.0 / 7.0 - x * p;
            p = 5.0 / 6.0 - x * p;
            p = 4.0 / 5.0 - x * p;
            p = 3.0 / 4.0 - x * p;
            p = 2.0 / 3.0 - x * p;
            p = 1.0 / 2.0 - x * p;
            difference += x * x * p;
        });
        k_minus_q = sum(difference) / size;
        k = k_minus_q + sum(q) / size;
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
            q += xr;
            rq += rxr;
            rrq += r * rxr;
            product *= u;
            if ((count++ & mask) == mask) {
                exponent += (Int)((UInt)bits(product) >> 52) - splat_int(1023);
                product = from_bits((bits(product) & splat_int(kMantissa)) | splat_int(kOneBits));
            }
        });
        exponent += (Int)((UInt)bits(product) >> 52) - splat_int(1023);
        product = from_bits((bits(product) & splat_int(kMantissa)) | splat_int(kOneBits));
        const Vec logs = log1p_pos(product - 1.0) + to_double(exponent) * kLn2Lo;
        k = (sum(to_double(exponent)) * kLn2Hi + sum(logs)) / size;
        k_minus_q = k - sum(q) / size;
    }
    Profile p;
    p.k = k;
    p.q = sum(q) / size;
    p.rq = sum(rq) / size;
    const double third = sum(rrq) / size;
    const double a = 1.0 - p.q;
    p.h = p.q * k - k_minus_q;
    p.slope = p.rq * (1.0 + k) - a * p.q;
    p.curvature = (2.0 * third - p.rq) * (1.0 + k) + p.rq * (2.0 - 3.0 * a);
    return p;
}

// A theta from which the first root can be reached: on the rising side of h or where h >= 0.
// Scans upwards from where h surely falls; 0 when ties at the threshold leave no root.
double scan_for_root(const double* e, std::int64_t m, double origin, Moments moment,
                     std::int32_t* evaluations) {
    Vec third = splat(0.0);
    std::int64_t zeros = 0;
    for_each_vector(e, m, origin,
                    [&](Vec x) __attribute__((always_inline)) { third += x * x * x; });
    while (zeros < m && e[zeros] - origin <= 0.0) ++zeros;
    const double deficit = 0.5 * moment.mean_square - moment.mean * moment.mean;
    const double start = deficit * static_cast<double>(m) / (4.0 * sum(third));
    const double largest_k = static_cast<double>(m - zeros) / static_cast<double>(zeros);
    const double factors[] = {2.0, 1.0625};
    for (const double factor : factors) {
        for (double theta = start; theta < 1e290; theta *= factor) {
            const Profile p = profile(e, m, origin, theta);
            ++*evaluations;
            if (p.h >= 0.0 || p.slope > 0.0) return theta;
            if (p.k > largest_k) break;
        }
    }
    return 0.0;
}

Tail exponential_tail(double mean) {
    Tail tail;
    tail.scale = mean;
    return tail;
}

// Maximum likelihood under shape >= 0: the first root of the profile score h, by safeguarded
// third-order steps in log(theta). `warm` is a guess of theta, or 0.
Tail fit_tail(const double* e, std::int64_t m, double origin, double warm,
              std::int32_t* evaluations) {
    const Moments moment = moments(e, m, origin);
    const double square = moment.mean * moment.mean;
    if (!(moment.mean > 0.0)) return Tail{};
    // The margin stands for shapes below about 1e-10, which rounding cannot tell from 0.
    if (moment.mean_square <= (2.0 + 1e-10) * square) return exponential_tail(moment.mean);

    double theta = warm;
    if (!(theta > 0.0)) {
        const double ratio = square / (moment.mean_square - square);  // mean^2 / variance, below 1
        theta = (1.0 - ratio) / (moment.mean * (1.0 + ratio));
    }
    double lower = 0.0, upper = kInfinity;
    bool upper_is_positive = false;
    for (int step = 0; step < 200; ++step) {
        const Profile p = profile(e, m, origin, theta);
        ++*evaluations;
        if (p.h >= 0.0) {
            upper = theta;
            upper_is_positive = true;
        } else if (p.slope > 0.0 || upper_is_positive) {
            lower = theta;
        } else if (lower > 0.0) {
            upper = theta;  // h < 0 and falling, right of a rising point: past the second root
        } else {
            theta = scan_for_root(e, m, origin, moment, evaluations);
            if (theta == 0.0) break;
            continue;
        }
        const double newton = -p.h / p.slope;
        double delta = newton / (1.0 + 0.5 * newton * p.curvature / p.slope);
        if (!(p.slope > 0.0)) {
            delta = kInfinity;
        } else if (delta > 1.0) {
            delta = 1.0;
        } else if (delta < -1.0) {
            delta = -1.0;
        }
        double next = theta * (2.0 + delta) / (2.0 - delta);  // exp(delta) to third order
        if (delta > -1e-5 && delta < 1e-5) {
            Tail tail;
            tail.theta = next;
            tail.shape = p.k + delta * (p.q + 0.5 * delta * p.rq);
            tail.scale = tail.shape / next;
            return tail;
        }
        if (!(next > lower && next < upper)) {
            if (lower == 0.0) {
                next = 0.25 * theta;
            } else if (upper == kInfinity) {
                next = 4.0 * theta;
            } else {
                next = __builtin_sqrt(lower) * __builtin_sqrt(upper);
                if (!(next > lower && next < upper)) break;  // nothing between: h never gets to 0
            }
        }
        theta = next;
    }
    Tail tail = exponential_tail(moment.mean);
    tail.no_interior_root = true;
    return tail;
}

double cvm(const double* e, std::int64_t m, double origin, const Tail& tail) {
    if (!(tail.scale > 0.0)) return kInfinity;
    const double inverse_size = 1.0 / static_cast<double>(m);
    const double rate = 1.0 / (tail.theta > 0.0 ? tail.shape : tail.scale);
    Vec position = Vec{0, 1, 2, 3, 4, 5, 6, 7} + 0.5;
    const auto squares = [&](Vec x) __attribute__((always_inline)) {
        const Vec y = tail.theta > 0.0 ? log1p_pos(tail.theta * x) * rate : x * rate;
        const Vec difference = (1.0 - exp_neg(y)) - position * inverse_size;
        return difference * difference;
    };
    Vec total = splat(0.0);
    std::int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes) {
        total += squares(load(e + i) - origin);
        position += static_cast<double>(kLanes);
    }
    if (i < m) {
        total += select(first_lanes(m - i), squares(load(e + i) - origin), splat(0.0));
    }
    return sum(total) + inverse_size / 12.0;
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
    const std::int64_t most = kWindowWork / n > kWindowsAlways ? kWindowWork / n : kWindowsAlways;
    const auto assess = [&](std::int64_t lower, std::int64_t upper, double warm) {
        Tail tail = fit_tail(e + lower, upper - lower, e[lower], warm, &s.evaluations);
        tail.cvm = cvm(e + lower, upper - lower, e[lower], tail);
        ++s.windows;
        return tail;
    };
    // Another window may be tried: it is large enough and the work is not.
    const auto room = [&](std::int64_t size) {
        if (size < options.min_window) return false;
        if (s.windows >= most) s.limited = true;
        return !s.limited;
    };
    // By threshold stability, theta of the same tail seen from the next score up.
    const auto shifted = [&](const Tail& tail, std::int64_t lower) {
        return tail.theta / (1.0 + tail.theta * (e[lower + 1] - e[lower]));
    };

    s.tail = assess(0, n, 0.0);
    while (room(s.upper - 1)) {
        const Tail next = assess(0, s.upper - 1, s.tail.theta);
        if (!(next.cvm < s.tail.cvm)) break;
        s.tail = next;
        --s.upper;
    }
    if (options.gof == nullptr) {
        while (room(s.upper - s.lower - 1)) {
            const Tail next = assess(s.lower + 1, s.upper, shifted(s.tail, s.lower));
            if (!(next.cvm < s.tail.cvm)) break;
            s.tail = next;
            ++s.lower;
        }
    } else {
        const Tail first = s.tail;
        while (!(s.tail.cvm <= critical(*options.gof, s.tail.shape,
                                        static_cast<double>(s.upper - s.lower)))) {
            if (!room(s.upper - s.lower - 1)) {  // no threshold is acceptable: leave it as it was
                s.tail = first;
                s.lower = 0;
                break;
            }
            s.tail = assess(s.lower + 1, s.upper, shifted(s.tail, s.lower));
            ++s.lower;
        }
    }
    if (options.refit_all && s.upper < n) s.tail = assess(s.lower, n, s.tail.theta);
    return s;
}

Tail fit_window(const double* e, std::int64_t m) {
    std::int32_t evaluations = 0;
    Tail tail = fit_tail(e, m, e[0], 0.0, &evaluations);
    tail.cvm = cvm(e, m, e[0], tail);
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

void standardise(double* e, std::int64_t n, double origin, double spread) {
    for (std::int64_t i = 0; i < n; ++i) e[i] = (e[i] - origin) / spread;
}

void rescore(const double* scores, std::int64_t n, double factor, double threshold, double spread,
             const Tail& tail, double* surprise) {
    const double rate = 1.0 / (tail.theta > 0.0 ? tail.shape : tail.scale);
    const auto rescored = [&](Vec x) __attribute__((always_inline)) {
        const Vec raw = (x * factor - threshold) / spread;
        const Vec excess = select(raw > splat(0.0), raw, splat(0.0));
        return (tail.theta > 0.0 ? log1p_pos(tail.theta * excess) : excess) * rate;
    };
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(surprise + i, rescored(load(scores + i)));
    if (i < n) {
        double rest[kLanes] = {};
        for (std::int64_t j = i; j < n; ++j) rest[j - i] = scores[j];
        store(rest, rescored(load(rest)));
        for (std::int64_t j = i; j < n; ++j) surprise[j] = rest[j - i];
    }
}

template <class Function>
void map_array(const double* x, std::int64_t n, double* out, Function function) {
    double buffer[kLanes] = {};
    for (std::int64_t i = 0; i < n; i += kLanes) {
        const std::int64_t count = n - i < kLanes ? n - i : kLanes;
        for (std::int64_t j = 0; j < count; ++j) buffer[j] = x[i + j];
        store(buffer, function(load(buffer)));
        for (std::int64_t j = 0; j < count; ++j) out[i + j] = buffer[j];
    }
}

void log1p_all(const double* x, std::int64_t n, double* out) {
    map_array(x, n, out, [](Vec v) __attribute__((always_inline)) { return log1p_pos(v); });
}

void exp_neg_all(const double* x, std::int64_t n, double* out) {
    map_array(x, n, out, [](Vec v) __attribute__((always_inline)) { return exp_neg(v); });
}

}  // namespace

const Engine engine = {inspect, select_window, fit_window, standardise,
                              rescore, log1p_all,     exp_neg_all};

}  // namespace paretocut::PARETOCUT_ISA
