#include "warnings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace paretocut::warnings {
namespace {

constexpr double kTiedShare = 0.25;             // of results that equal their neighbour
constexpr double kSaturatedShare = 0.25;        // of results within 0.01 of 0 or 1
constexpr double kSmooth = 1.1051709180756477;  // e^0.1: ratio of gaps; about e if measured
constexpr std::int64_t kFewestFused = 10;       // results of a list that can be told to be fused
constexpr std::int64_t kHead = 16;              // results that are looked at for it

// Whether neighbours tie often, and whether gaps follow each other smoothly, as those of a function
// of the rank do. Gaps between measured scores are nearly independent, so the logarithms of two
// neighbouring gaps differ by about 1 (the median of a logistic variable). For `1000 - rank` or
// `1 / (60 + rank)` they hardly differ. Scores rounded to a grid have equal gaps too, but also
// ties.
std::uint8_t of_gaps(const double* x, std::int64_t n) {
    // Some engines break ties by subtracting a millionth: such gaps are ties too. The spread is
    // that of the middle half, because one far outlier must not make ties of all the others.
    // Differences of quarters cannot overflow.
    const double spread = 0.25 * x[n / 4] - 0.25 * x[n * 3 / 4];
    const double least = std::max(spread * std::min(3e-6, 0.01 / static_cast<double>(n)),
                                  x[0] >= 1.0 ? 0.25 * 1.5e-6 : 0.0);
    std::int64_t ties = 0, pairs = -1, small = 0;
    double before = 0.0;
    for (std::int64_t i = 1; i < n; ++i) {
        const double gap = 0.25 * x[i - 1] - 0.25 * x[i];
        if (gap <= least) {
            ++ties;
            continue;
        }
        ++pairs;
        small += gap < kSmooth * before && before < kSmooth * gap;
        before = gap;
    }
    if (static_cast<double>(ties) > kTiedShare * static_cast<double>(n - 1)) return kHeavyTies;
    // More than half, and of fewer than twenty a few more: so many are small by accident.
    const std::int64_t more = std::max<std::int64_t>(0, 20 - pairs) / 3;
    return pairs >= 8 && 2 * small > pairs + more ? kRankOnly : 0;
}

// The weights of the rankings in a fusion, three at the most.
struct Weights {
    std::array<double, 3> of;
    int count;
};

// Simple proportions of weights. Engines take them as they are, so that they sum to one, or so that
// the largest is one.
constexpr Weights kProportions[] = {
    {{1}, 1},       {{1, 1}, 2},    {{2, 1}, 2},    {{3, 1}, 2},
    {{3, 2}, 2},    {{4, 1}, 2},    {{7, 3}, 2},    {{9, 1}, 2},
    {{10, 3}, 2},   {{10, 7}, 2},   {{10, 9}, 2},   {{11, 9}, 2},
    {{13, 7}, 2},   {{17, 3}, 2},   {{19, 1}, 2},   {{1, 1, 1}, 3},
    {{2, 1, 1}, 3}, {{2, 2, 1}, 3}, {{3, 1, 1}, 3}, {{3, 2, 1}, 3},
    {{4, 2, 1}, 3}, {{4, 3, 3}, 3}, {{5, 3, 2}, 3}, {{5, 4, 1}, 3},
    {{6, 3, 1}, 3}, {{7, 2, 1}, 3}, {{8, 1, 1}, 3}, {{0.34, 0.33, 0.33}, 3}};

// How exactly the sums of a fusion are met, and from which rank on they are no longer looked for.
struct Lattice {
    double constant, deepest, error;
};

// Whether a score is a sum of `weight / (constant + rank)` over some of the rankings, with whole
// ranks. The largest term is at least an equal share of the score, so there are few ranks to try.
bool on_lattice(double score, const Weights& weights, const Lattice& lattice) {
    if (std::fabs(score) <= lattice.error) return true;
    if (weights.count == 0 || score < 0.0) return false;
    for (int i = 0; i < weights.count; ++i) {
        const double weight = weights.of[i];
        if (i > 0 && weight == weights.of[i - 1]) continue;
        Weights others{{}, 0};
        for (int j = 0; j < weights.count; ++j)
            if (j != i) others.of[others.count++] = weights.of[j];
        const double share = (score - lattice.error) / weights.count;
        const double last = std::min(lattice.deepest, weight / share - lattice.constant);
        double rank = std::max(0.0, std::ceil(weight / (score + lattice.error) - lattice.constant));
        for (; rank <= last; rank += 1.0)
            if (on_lattice(score - weight / (lattice.constant + rank), others, lattice))
                return true;
    }
    return false;
}

// Whether the best scores all come from reciprocal-rank fusion, with one of the usual constants and
// sets of weights. Of scores rounded to three or four digits the size must do: four rankings reach
// 4 / 61, and 0.066 when rounded.
bool fused(const double* x, std::int64_t n) {
    if (n < kFewestFused || !(x[0] > 0.0 && x[0] <= 3.0)) return false;
    std::array<double, kHead> head;
    std::size_t distinct = 0;
    bool single = true, rounded = true;
    for (std::int64_t i = 0; i < std::min(n, kHead); ++i) {
        if (i == 0 || x[i] != x[i - 1]) head[distinct++] = x[i];
        single = single && x[i] == static_cast<double>(static_cast<float>(x[i]));
        rounded = rounded && std::fabs(1e4 * x[i] - std::nearbyint(1e4 * x[i])) < 1e-6;
    }
    if (!(head[distinct - 1] > 0.0)) return false;
    if (rounded) return x[0] < 0.0661;
    if (distinct < 5) return false;
    for (const Weights& parts : kProportions) {
        // Numbers of single precision are coarse: with deep ranks, the very many sums of three
        // would match anything, slowly. So a few scores may come from deeper ranks, unless the
        // weights are large.
        const double deepest = !single ? 2000 : parts.count == 3 ? 100 : 1000;
        const double error = single ? 1.2e-7 : 1e-13;
        const double sum = parts.of[0] + parts.of[1] + parts.of[2];
        for (const double unit : {1.0, sum, parts.of[0]}) {
            Weights weights = parts;
            for (double& weight : weights.of) weight /= unit;
            const std::size_t deeper =
                single && parts.count == 3 && sum / unit <= 4.0 ? distinct / 4 : 0;
            for (const double constant : {60.0, 2.0, 1.0}) {
                // Only scores below 0.1 are worth the search for unequal weights of three.
                if (parts.count == 3 && parts.of[0] > parts.of[2] && constant < 60.0) break;
                // The best is at least as good as the first result of the heaviest ranking.
                if (head[0] > sum / unit / constant * (1.0 + 1e-6) ||
                    head[0] < parts.of[0] / unit / (constant + 1.0) * (1.0 - 1e-6))
                    continue;
                std::size_t missed = 0;
                if (std::all_of(head.begin(), head.begin() + distinct, [&](double score) {
                        return on_lattice(score, weights, {constant, deepest, error * score}) ||
                               ++missed <= deeper;
                    }))
                    return true;
            }
        }
    }
    return false;
}

// Whether too many scores are the reciprocal of an integer: in a deep fused list, of however many
// rankings and however rounded, most results were found by one ranking only.
bool reciprocal(const double* x, std::int64_t n) {
    std::int64_t counted = 0, whole = 0;
    double last = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (!(x[i] > 1.0 / 400 && x[i] < 1.0 / 10) || (i > 0 && x[i] == x[i - 1])) continue;
        const double inverse = 1.0 / x[i], nearest = std::nearbyint(inverse);
        ++counted;
        // Each integer counts once: saturated scores crowd around a few of them.
        if (std::fabs(inverse - nearest) < 0.02 && nearest != last) {
            ++whole;
            last = nearest;
        }
    }
    const double chance = 0.04 * static_cast<double>(counted);
    return counted >= 20 && static_cast<double>(whole) > chance + 6.0 * std::sqrt(chance);
}

// Whether each list was put on a scale of its own: from exactly 1 to exactly 0, or with the sum 1.
bool rescaled(const double* x, std::int64_t n) {
    if (n < 3) return false;
    if (x[0] == 1.0 && x[n - 1] == 0.0 && x[n - 2] != 0.0) return true;
    return x[n - 1] >= 0.0 && x[0] < 1.0 && std::fabs(std::accumulate(x, x + n, 0.0) - 1.0) < 1e-6;
}

bool saturated(const double* x, std::int64_t n) {
    const double top = x[0], bottom = x[n - 1];
    if (!(bottom >= 0.0 && top <= 1.0 && top > bottom)) return false;
    const double enough = kSaturatedShare * static_cast<double>(n);
    const auto high = std::count_if(x, x + n, [](double value) { return value > 0.99; });
    const auto low = std::count_if(x, x + n, [](double value) { return value < 0.01; });
    // Small cosines lie near 0 too; probabilities piled at 0 have a best score well above it.
    return (static_cast<double>(high) >= enough && top > 0.99 && top > bottom + 0.01) ||
           (static_cast<double>(low) >= enough && bottom < 0.01 && top > 0.5);
}

}  // namespace

void diagnose(const cuts::Lists& lists, std::uint8_t* warnings) {
    for (std::int64_t i = 0; i < lists.count; ++i) {
        const double* x = lists.values + lists.offsets[i];
        const std::int64_t n = lists.offsets[i + 1] - lists.offsets[i];
        warnings[i] = 0;
        if (n == 0) continue;
        if (n > 1) warnings[i] |= of_gaps(x, n);
        if (fused(x, n) || reciprocal(x, n)) warnings[i] |= kRankOnly;
        if (rescaled(x, n)) warnings[i] |= kRescaled;
        if (saturated(x, n)) warnings[i] |= kSaturated;
    }
}

}  // namespace paretocut::warnings
