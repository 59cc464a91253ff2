#include "warnings.hpp"

#include <algorithm>
#include <cmath>

namespace paretocut::warnings {
namespace {

constexpr double kTiedShare = 0.25;             // of results that equal their neighbour
constexpr double kSaturatedShare = 0.25;        // of results within 0.01 of 0 or 1
constexpr double kSmooth = 1.1051709180756477;  // e^0.1: ratio of gaps; about e if measured

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
    const double least = spread * std::min(3e-6, 0.01 / static_cast<double>(n));
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
    return pairs >= 8 && 2 * small > pairs ? kRankOnly : 0;
}

// Whether too many scores are the reciprocal of an integer. In reciprocal-rank fusion a result that
// only one ranking has found scores `1 / (k + rank)` exactly, and such results are many.
bool fused(const double* x, std::int64_t n) {
    std::int64_t counted = 0, whole = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (!(x[i] > 1.0 / 400 && x[i] < 1.0 / 10) || (i > 0 && x[i] == x[i - 1])) continue;
        const double inverse = 1.0 / x[i];
        ++counted;
        whole += std::fabs(inverse - std::nearbyint(inverse)) < 0.02;
    }
    const double chance = 0.04 * static_cast<double>(counted);
    return counted >= 20 && static_cast<double>(whole) > chance + 4.0 * std::sqrt(chance);
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
        if (fused(x, n)) warnings[i] |= kRankOnly;
        if (saturated(x, n)) warnings[i] |= kSaturated;
    }
}

}  // namespace paretocut::warnings
