// Maximum likelihood of a generalized Pareto tail for one window. Part of engine.cpp.
#pragma once

#include "engine.hpp"
#include "profile.hpp"
#include "simd_math.hpp"
#include "trail.hpp"

namespace paretocut::PARETOCUT_ISA {
namespace {

// Where theta times the mean excess is below this, no earlier root has been seen: two roots need
// excesses of two very different sizes.
constexpr double kSurelyFirst = 16.0;

// In units of the largest excess: no root is looked for beyond this theta.
constexpr double kFarthest = 1e290;

// Steps of a search that starts without a bracket, before the careful one takes over.
constexpr int kQuickSteps = 12;

// A theta and the profile there.
struct Point {
    double theta = 0.0;  // 0: none
    Profile p = {};
};

// One window in the search for the root of its profile score.
struct Search {
    const double* e;
    std::int64_t m;
    double origin;
    Trail* trail;
    std::int32_t evaluations = 0;
    int next = 0;       // of the trail
    double unit = 1.0;  // a power of two near 1 / the largest excess, so that scores may be scaled
    double largest_k = kInfinity;  // beyond it h is negative for ever
    Sums at = {};                  // sums of the last evaluation

    Point remember(double place) {
        const Point point = evaluate(exp_of(place) * unit);
        trail->add(at, place, m);
        return point;
    }

    Point evaluate(double theta) {
        ++evaluations;
        at = sums(e, m, origin, theta);
        return {theta, profile(at, m)};
    }

    // The rising root of h between lower and upper, by safeguarded third-order steps in log(theta)
    // from a point on; theta 0 if the search ends at a point where h < 0 and falls, with no rising
    // point known below it, or if h does not get to 0 in so many steps.
    Tail root(Point point, double lower, double upper, int steps) {
        bool upper_is_positive = upper < kInfinity;
        for (;;) {
            const double theta = point.theta;
            const Profile& p = point.p;
            if (p.h >= 0.0) {
                upper = theta;
                upper_is_positive = true;
            } else if (p.slope > 0.0 || upper_is_positive) {
                lower = theta;
            } else if (lower > 0.0) {
                upper = theta;  // right of a rising point: past the second root
            } else {
                return Tail{};
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
                    // A ratio, so that powers of two in the scores stay exact.
                    const double ratio = upper / lower;
                    next = lower * __builtin_sqrt(ratio < 1e300 ? ratio : 1e300);
                    if (!(next > lower && next < upper)) {  // flat to the last digit
                        if (!upper_is_positive) return Tail{};
                        Tail tail;
                        tail.theta = theta;
                        tail.shape = p.k;
                        tail.scale = p.k / theta;
                        return tail;
                    }
                }
            }
            if (--steps <= 0) return Tail{};
            point = evaluate(next);
        }
    }

    // The rising root between a point where h rises and one where it falls, both below 0; theta 0
    // if the hump between them does not reach 0.
    Tail root_in_hump(Point low, Point high) {
        while (high.theta - low.theta > 1e-9 * high.theta) {
            // A falls and k rises with theta.
            if ((1.0 - high.p.q) * (1.0 + low.p.k) > 1.0) break;
            // Where h is concave it lies below its tangents.
            const double width = 2.0 * (high.theta - low.theta) / (high.theta + low.theta);
            const double fall = low.p.slope - high.p.slope;
            const double cross = (high.p.h - low.p.h - high.p.slope * width) / fall;
            if (low.p.curvature < 0.0 && high.p.curvature < 0.0 &&
                low.p.h + low.p.slope * cross < 0.0) {
                break;
            }
            double part = low.p.slope / fall;
            part = part < 0.1 ? 0.1 : (part > 0.9 ? 0.9 : part);
            const Point middle = evaluate(low.theta + part * (high.theta - low.theta));
            if (middle.p.h >= 0.0) return root(middle, low.theta, middle.theta, 200);
            (middle.p.slope > 0.0 ? low : high) = middle;
        }
        return Tail{};
    }

    // The first rising root where theta / unit has a logarithm between from and to, at both of
    // which h is negative; theta 0 if there is none.
    Tail root_between(double from, double to, bool root_follows) {
        Point previous;  // the last one known at or before `from`, if it is not far
        const auto pass = [&]() {
            const int before = next;
            while (next < trail->count && trail->place[next] <= from) ++next;
            if (next > before && trail->place[next - 1] >= from - kOctave) {
                previous = {trail->theta[next - 1], trail->profile(next - 1, m)};
            }
        };
        pass();
        // Where the last window was searched in small steps, so is this one.
        const bool new_ground = !(next < trail->count && trail->place[next] < to);
        double stride = new_ground ? to - from : kOctave;
        while (from < to) {
            pass();
            if (next < trail->count) {
                const double way = trail->place[next] - from;
                const Profile p = trail->profile(next, m);
                const bool falls_again = previous.p.slope > 0.0 && p.slope < 0.0;
                if (p.h < -1e-6 &&
                    (p.negative_back_to(way) ||
                     (way <= 1.01 * kOctave && previous.theta > 0.0 && !falls_again))) {
                    from = trail->place[next];
                    if (p.k > largest_k) break;
                    continue;
                }
            }
            if (to - from <= kOctave && previous.theta > 0.0 &&
                (root_follows || previous.p.slope < 0.0)) {
                break;
            }
            const double at_log = to - from <= stride ? to : from + stride;
            const double way = at_log - from;
            const Point here = remember(at_log);
            if (here.p.h < 0.0 && here.p.negative_back_to(way)) {
                stride = 4.0 * way;
            } else if (way > 1.01 * kOctave) {
                stride = way > 8.0 * kOctave ? 0.125 * way : kOctave;
                continue;
            } else if (here.p.h >= 0.0) {
                return root(here, previous.theta, here.theta, 200);
            } else {
                if (!(previous.theta > 0.0)) previous = remember(from);
                if (previous.p.slope > 0.0 && !(here.p.slope > 0.0)) {
                    const Tail tail = root_in_hump(previous, here);
                    if (tail.theta > 0.0) return tail;
                }
            }
            from = at_log;
            previous = here;
            if (here.p.k > largest_k) break;
        }
        return Tail{};
    }

    // The first rising root; only roots below `limit` matter. theta 0 if there is none.
    Tail first_root(const Moments& moment, double limit) {
        unit = power_below(1.0 / moment.largest);
        trail->locate(unit);
        // log(1 + x) - x / (1 + x) is at least x^2 / (2 (1 + 2 x / 3)^2), and its mean exceeds the
        // square of the mean of x up to here. Then h is negative.
        const double heaviness = moment.mean_square / (2.0 * moment.mean * moment.mean);
        const double from =
            log_of(1.5 * (__builtin_sqrt(heaviness) - 1.0)) - log_of(moment.largest * unit);
        std::int64_t zeros = 0;
        while (zeros < m && e[zeros] - origin <= 0.0) ++zeros;
        // A is never less than the share of the zeros: with a larger k, h is negative for ever.
        largest_k = static_cast<double>(m - zeros) / static_cast<double>(zeros);
        const double farthest = kFarthest * unit < 1e300 ? kFarthest : 1e300 / unit;
        const bool root_follows = limit < farthest * unit;
        return root_between(from, log_of(root_follows ? limit / unit : farthest), root_follows);
    }
};

// Maximum likelihood under shape >= 0: the first root of the profile score h. `sums_at` holds sums
// of (nearly) this window to start from, or just a theta, and comes back with those of the last
// evaluation.
Tail fit_tail(const double* e, std::int64_t m, double origin, Sums* sums_at, Trail* trail,
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
    const double ratio = square / (moment.mean_square - square);  // mean^2 / variance, below 1
    if (start.q > 0.0) {
        const Profile p = profile(start, m);
        if (p.slope > 0.0) theta = moved(theta, p.step());
    } else if (!(theta > 0.0) && ratio > 1.0 / 64.0) {
        theta = (1.0 - ratio) / (mean * (1.0 + ratio));
    }
    Search search{e, m, origin, trail};
    Tail tail;
    if (theta > 0.0) tail = search.root(search.evaluate(theta), 0.0, kInfinity, kQuickSteps);
    if (!(tail.theta > 0.0) || tail.theta * mean > kSurelyFirst) {
        const Sums found = search.at;
        const Tail first =
            search.first_root(moment, tail.theta > 0.0 ? 0.9 * tail.theta : kInfinity);
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

}  // namespace
}  // namespace paretocut::PARETOCUT_ISA
