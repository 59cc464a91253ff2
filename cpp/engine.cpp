// Fit, goodness of fit, window search and rescoring: compiled once per instruction set.
//
// Only static functions and plain types here: a template of the standard library instantiated in
// this file could be merged with another instruction set's copy by the linker.
#include "engine.hpp"

#include "fit.hpp"
#include "simd_math.hpp"

namespace paretocut::PARETOCUT_ISA {
namespace {

// Passes over a list before the search for its window is stopped. A window takes about three, so
// that lists of a few thousand scores are searched to the end.
constexpr std::int64_t kWork = std::int64_t{1} << 29;
constexpr std::int64_t kPassesAlways = 128;

// Scores looked at before the watch is asked: a few tenths of a millisecond.
constexpr std::int64_t kAskAfter = std::int64_t{1} << 17;

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
    Trail trail;
    std::int64_t unasked = 0;
    const auto assess = [&](std::int64_t lower, std::int64_t upper) {
        const std::int32_t before = s.evaluations;
        Tail tail = fit_tail(e + lower, upper - lower, e[lower], &at, &trail, &s.evaluations);
        tail.cvm = cvm(e + lower, upper - lower, e[lower], tail);
        ++s.windows;
        unasked += (upper - lower) * (s.evaluations - before + 2);
        if (unasked >= kAskAfter && options.watch.stop != nullptr) {
            unasked = 0;
            s.stopped = options.watch.stop(options.watch.context) || s.stopped;
        }
        return tail;
    };
    // Another window may be tried: it is large enough and the work is not.
    const auto room = [&](std::int64_t size) {
        if (size < options.min_window) return false;
        if (s.windows + s.evaluations >= most) s.limited = true;
        return !s.limited && !s.stopped;
    };
    // The window without its smallest score; by threshold stability theta shrinks as it rises.
    const auto without_smallest = [&]() {
        const double delta = e[s.lower + 1] - e[s.lower];
        // Where all x are small, the sums differ in their last digits only.
        if (at.q > 0.0 && at.theta * (e[s.upper - 1] - e[s.lower]) > 0x1p-6) {
            at = raised(at, delta, s.upper - s.lower);
        } else {
            at = Sums{};
            at.theta = s.tail.theta / (1.0 + s.tail.theta * delta);
        }
        trail.raise(delta, s.upper - s.lower);
        return assess(s.lower + 1, s.upper);
    };

    s.tail = assess(0, n);
    while (room(s.upper - 1)) {
        at = without(at, e[s.upper - 1] - e[0]);
        trail.drop(e[s.upper - 1] - e[0]);
        const Tail next = assess(0, s.upper - 1);
        if (!(next.cvm < s.tail.cvm)) break;
        s.tail = next;
        --s.upper;
    }
    // Both stand at a window that was tried and not taken.
    trail.clear();
    at = Sums{};
    at.theta = s.tail.theta;
    if (options.gof == nullptr) {
        while (room(s.upper - s.lower - 1)) {
            const Tail next = without_smallest();
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
            s.tail = without_smallest();
            ++s.lower;
        }
    }
    if (options.refit_all && s.upper < n) {
        at = Sums{};
        at.theta = s.tail.theta;
        trail.clear();
        s.tail = assess(s.lower, n);
    }
    return s;
}

Tail fit_excesses(const double* e, std::int64_t m) {
    std::int32_t evaluations = 0;
    Sums at;
    Trail trail;
    Tail tail = fit_tail(e, m, 0.0, &at, &trail, &evaluations);
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
