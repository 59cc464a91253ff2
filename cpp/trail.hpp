// What earlier windows have shown of the profile score. Part of engine.cpp.
#pragma once

#include <initializer_list>

#include "profile.hpp"
#include "simd_math.hpp"

namespace paretocut::PARETOCUT_ISA {
namespace {

// Sums at the thetas where the search of the last window stood, brought to the next window without
// a pass over it. Ascending in theta.
struct Trail {
    static constexpr int kMost = 64;

    int count = 0;
    double theta[kMost + kLanes] = {};
    double log[kMost + kLanes] = {};    // sum of log(1 + x)
    double r[kMost + kLanes] = {};      // sum of r = 1 / (1 + x)
    double rr[kMost + kLanes] = {};     // sum of r^2
    double error[kMost + kLanes] = {};  // of r, relative, in units of the last place

    void clear() { count = 0; }

    // The largest score leaves the window.
    void drop(double excess) {
        for (int i = 0; i < count; i += kLanes) {
            const Vec x = load(theta + i) * excess;
            const Vec share = 1.0 / (1.0 + x);
            store(log + i, load(log + i) - log1p_pos(x));
            store(r + i, load(r + i) - share);
            store(rr + i, load(rr + i) - share * share);
        }
    }

    // The smallest score leaves a window of m, and the next, larger by delta, takes its place as
    // the origin. With theta' = theta / (1 + theta delta), 1 + theta' (e - delta) is
    // (1 + theta e) / (1 + theta delta): all sums follow.
    void raise(double delta, std::int64_t m) {
        const double others = static_cast<double>(m - 1);
        for (int i = 0; i < count; i += kLanes) {
            const Vec x = load(theta + i) * delta;
            const Vec factor = 1.0 + x;
            const Vec left = load(r + i) - 1.0;
            store(error + i, (load(error + i) + 1.0) * load(r + i) / left);
            store(log + i, load(log + i) - others * log1p_pos(x));
            store(r + i, left * factor);
            store(rr + i, (load(rr + i) - 1.0) * factor * factor);
            store(theta + i, load(theta + i) / factor);
        }
        keep([&](int i) { return error[i] > 0.0 && error[i] < 1e6 && log[i] > 0.0; });
    }

    // Remembers sums over a window of m, unless there are too many of them.
    void add(const Sums& s, double at_place, std::int64_t m) {
        keep([&](int i) { return place[i] < at_place - 0.1 || place[i] > at_place + 0.1; });
        if (count == kMost) keep([](int i) { return i % 2 == 1; });
        int at = count++;
        for (; at > 0 && theta[at - 1] > s.theta; --at) move(at - 1, at);
        theta[at] = s.theta;
        place[at] = at_place;
        log[at] = s.log;
        r[at] = static_cast<double>(m) - s.q;
        rr[at] = r[at] - s.rq;
        error[at] = static_cast<double>(m);
    }

    // The logarithms of the thetas in this unit, which must have been asked for in this window.
    double place[kMost + kLanes] = {};
    void locate(double unit) {
        for (int i = 0; i < count; i += kLanes) {
            store(place + i, log_pos(load(theta + i) * (1.0 / unit)));
        }
    }

    // What they say of the profile of a window of m: enough to see whether h is negative.
    Profile profile(int i, std::int64_t m) const {
        const double inverse = 1.0 / static_cast<double>(m);
        Profile p = {};
        p.k = log[i] * inverse;
        p.q = 1.0 - r[i] * inverse;
        p.rq = (r[i] - rr[i]) * inverse;
        p.h = p.q - p.k * (1.0 - p.q);
        p.slope = p.rq * (1.0 + p.k) - (1.0 - p.q) * p.q;
        return p;
    }

  private:
    void move(int from, int to) {
        for (double* column : {theta, log, r, rr, error, place}) column[to] = column[from];
    }

    template <class Condition>
    void keep(Condition condition) {
        int kept = 0;
        for (int i = 0; i < count; ++i) {
            if (condition(i)) move(i, kept++);
        }
        count = kept;
    }
};

}  // namespace
}  // namespace paretocut::PARETOCUT_ISA
