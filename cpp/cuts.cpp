#include "cuts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace paretocut::cuts {
namespace {

constexpr int kHead = 5;       // results whose mean min-max scales the column kTop
constexpr double kFar = 9.0;   // raw scores further out say no more than "far"
constexpr int kMaxSteps = 60;  // of Newton's method; four to six are usual
constexpr double kClose = 1e-9;

std::int64_t longest(const Lists& lists) {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < lists.count; ++i) {
        most = std::max(most, lists.offsets[i + 1] - lists.offsets[i]);
    }
    return most;
}

// Logarithms of 1, 2, ..., n.
std::vector<double> log_ranks(std::int64_t n) {
    std::vector<double> logs(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) logs[static_cast<std::size_t>(i)] = static_cast<double>(i);
    log1p_array(logs.data(), n, logs.data());
    return logs;
}

// The numbers of one list that its columns are made of.
struct ListScale {
    const double* x;
    std::int64_t n;
    double low, inverse_range, head, mean, inverse_sd;

    ListScale(const double* values, std::int64_t length) : x(values), n(length) {
        const double top = x[0], bottom = x[n - 1];
        const bool constant = !(bottom < top);
        // In a constant list every result equals the best one, so it gets the best one's value.
        low = constant ? bottom - 1.0 : bottom;
        inverse_range = constant ? 1.0 : 1.0 / (top - bottom);
        double sum = 0.0;
        for (std::int64_t i = 0; i < n; ++i) sum += x[i] - top;
        mean = constant ? top : top + sum / static_cast<double>(n);
        double squares = 0.0;
        for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
        inverse_sd = constant ? 1.0 : 1.0 / std::sqrt(squares / static_cast<double>(n));
        const std::int64_t first = std::min<std::int64_t>(n, kHead);
        head = 0.0;
        for (std::int64_t i = 0; i < first; ++i) head += minmax(i);
        head /= static_cast<double>(first);
    }

    double minmax(std::int64_t i) const { return (x[i] - low) * inverse_range; }
};

// Where the range of a list begins: at the score of rank `depth`, or below the last score of a
// shorter list, where that score would stand.
double low_end(const double* x, std::int64_t n, double depth) {
    const double bottom = x[n - 1], length = static_cast<double>(n);
    if (n < 2 || length >= depth) return bottom;
    // By how much scores fall while the rank grows by a factor of e, from here to the end.
    const auto fall = [&](std::int64_t from) {
        return (x[from] - bottom) / std::log(length / static_cast<double>(from + 1));
    };
    const double slope = n == 2 ? fall(0) : std::min(fall(n / 4), fall(n / 2));
    const double low = bottom - std::min(std::fabs(bottom), slope * std::log(depth / length));
    return std::max(low, std::numeric_limits<double>::lowest());
}

// Numbers in the order of the doubles; both zeros are one.
std::uint64_t in_order_of(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    const std::uint64_t sign = std::uint64_t{1} << 63;
    return bits & sign ? ~bits : bits | sign;
}

// The lesser of two keys, without a branch: of random keys, the processor would guess every second
// one wrong.
std::uint64_t lesser(std::uint64_t a, std::uint64_t b) {
    return a ^ ((a ^ b) & (std::uint64_t{0} - static_cast<std::uint64_t>(b < a)));
}

// Sorts different keys: fours by comparing, then by merging runs of doubled length, from both ends
// at once.
void merge_sort(std::uint64_t* keys, std::uint64_t* spare, std::int64_t n) {
    const auto in_order = [](std::uint64_t& a, std::uint64_t& b) {
        const std::uint64_t least = lesser(a, b);
        b ^= a ^ least;
        a = least;
    };
    std::uint64_t *from = keys, *to = spare;
    for (; from + 4 <= keys + n; from += 4) {
        in_order(from[0], from[1]);
        in_order(from[2], from[3]);
        in_order(from[0], from[2]);
        in_order(from[1], from[3]);
        in_order(from[1], from[2]);
    }
    std::sort(from, keys + n);
    from = keys;
    for (std::int64_t run = 4; run < n; run *= 2) {
        for (std::int64_t begin = 0; begin < n; begin += 2 * run) {
            const std::uint64_t* left = from + begin;
            const std::uint64_t* right = from + std::min(begin + run, n);
            const std::uint64_t* end = from + std::min(begin + 2 * run, n);
            const std::uint64_t *last_left = right - 1, *last_right = end - 1;
            std::uint64_t *low = to + begin, *high = low + (end - left) - 1;
            for (auto steps = end - right; steps > 0; --steps) {  // the right run may be shorter
                const std::uint64_t a = *left, b = *right, y = *last_left, z = *last_right;
                *low++ = lesser(a, b);
                *high-- = y ^ z ^ lesser(y, z);
                const std::ptrdiff_t falls = b < a, rises = y < z;
                right += falls;
                left += 1 - falls;
                last_right -= rises;
                last_left -= 1 - rises;
            }
            std::merge(left, last_left + 1, right, last_right + 1, low);
        }
        std::swap(from, to);
    }
    if (from != keys) std::copy(from, from + n, keys);
}

}  // namespace

void upper_part(const Lists& lists, double depth, double share, std::int64_t* counts,
                double* lows) {
    for (std::int64_t i = 0; i < lists.count; ++i) {
        const double* x = lists.values + lists.offsets[i];
        const std::int64_t n = lists.offsets[i + 1] - lists.offsets[i];
        lows[i] = n > 0 ? low_end(x, n, depth) : 0.0;
        const double least = n > 0 ? x[0] - (share * x[0] - share * lows[i]) : 0.0;
        counts[i] =
            std::partition_point(x, x + n, [least](double score) { return score >= least; }) - x;
    }
}

std::int64_t survey(const Lists& lists, bool falling) {
    const double sign = falling ? 1.0 : -1.0;
    bool sorted = true;
    for (std::int64_t i = 0; i < lists.count; ++i) {
        const double* x = lists.values + lists.offsets[i];
        const std::int64_t n = lists.offsets[i + 1] - lists.offsets[i];
        bool finite = n == 0 || std::isfinite(x[0]);
        bool in_order = true;
        // NaN compares as false, so that a list in order has none; its ends bound the rest.
        for (std::int64_t j = 1; j < n; ++j) in_order &= sign * x[j - 1] >= sign * x[j];
        if (in_order && finite && (n == 0 || std::isfinite(x[n - 1]))) continue;
        for (std::int64_t j = 0; j < n; ++j) {
            if (!std::isfinite(x[j])) return lists.offsets[i] + j;
        }
        sorted = sorted && in_order;
    }
    return sorted ? kInOrder : kUnsorted;
}

void sort_lists(const Lists& lists, bool falling, std::int64_t* order) {
    const auto most = static_cast<std::size_t>(longest(lists));
    std::vector<std::uint64_t> keys(most), spare(most);
    for (std::int64_t i = 0; i < lists.count; ++i) {
        const std::int64_t begin = lists.offsets[i], n = lists.offsets[i + 1] - begin;
        const auto merit = [&](std::int64_t at) {
            return falling ? -lists.values[at] : lists.values[at];
        };
        // A key is a score with its last bits replaced by its place, so no two are alike.
        const int bits = std::bit_width(static_cast<std::uint64_t>(n));
        const std::uint64_t places = (std::uint64_t{1} << bits) - 1;
        for (std::int64_t j = 0; j < n; ++j) {
            const auto place = static_cast<std::uint64_t>(j);
            keys[place] = (in_order_of(merit(begin + j)) & ~places) | place;
        }
        merge_sort(keys.data(), spare.data(), n);
        const auto key = [&](std::int64_t j) { return keys[static_cast<std::size_t>(j)]; };
        std::int64_t* out = order + begin;
        bool close = false;
        for (std::int64_t j = 0; j < n; ++j) {
            out[j] = begin + static_cast<std::int64_t>(key(j) & places);
            close |= j > 0 && (key(j - 1) | places) == (key(j) | places);
        }
        if (!close) continue;
        // Where only the replaced bits tell scores apart, the scores themselves are compared.
        const auto before = [&](std::int64_t a, std::int64_t b) {
            return merit(a) < merit(b) || (merit(a) == merit(b) && a < b);
        };
        for (std::int64_t first = 0, last = 1; first < n; first = last++) {
            while (last < n && (key(first) | places) == (key(last) | places)) ++last;
            if (!std::is_sorted(out + first, out + last, before)) {
                std::sort(out + first, out + last, before);
            }
        }
    }
}

void count_kept(const Lists& lists, const Rules& rules, std::int64_t* counts) {
    const std::vector<double> logs = log_ranks(longest(lists));
    for (std::int64_t i = 0; i < lists.count; ++i) {
        std::int64_t* out = counts + i * rules.count;
        const std::int64_t n = lists.offsets[i + 1] - lists.offsets[i];
        if (n == 0) {
            std::fill(out, out + rules.count, std::int64_t{0});
            continue;
        }
        const ListScale list(lists.values + lists.offsets[i], n);
        for (std::int64_t r = 0; r < rules.count; ++r) {
            const double* weight = rules.weights + r * kColumns;
            const double threshold = rules.thresholds[r];
            const auto kept = [&](std::int64_t at) {
                const double minmax = list.minmax(at);
                const double z = (list.x[at] - list.mean) * list.inverse_sd;
                const double raw =
                    std::clamp((list.x[at] - rules.center) / rules.spread, -kFar, kFar);
                const double key = weight[kRank] * static_cast<double>(at + 1) +
                                   weight[kLogRank] * logs[static_cast<std::size_t>(at)] +
                                   weight[kMinMax] * minmax + weight[kTop] * (minmax / list.head) +
                                   weight[kZ] * z + weight[kRaw] * raw;
                return key >= threshold;
            };
            // Keys fall, so the results kept are the first ones: look for the end of them.
            std::int64_t begin = 0, end = n;
            while (begin < end) {
                const std::int64_t middle = begin + (end - begin) / 2;
                if (kept(middle)) {
                    begin = middle + 1;
                } else {
                    end = middle;
                }
            }
            out[r] = begin;
        }
    }
}

namespace {

// The log-odds of one list, and what sums of probabilities are made in.
class ListOdds {
  public:
    ListOdds(const Lists& lists, const Odds& odds)
        : lists_(lists),
          odds_(odds),
          logs_(log_ranks(longest(lists))),
          logits_(logs_.size()),
          p_(logs_.size()) {}

    // Takes up list i; false if it is empty.
    bool load(std::int64_t i) {
        n_ = lists_.offsets[i + 1] - lists_.offsets[i];
        if (n_ == 0) return false;
        const double* x = lists_.values + lists_.offsets[i];
        const double top = x[0], low = low_end(x, n_, odds_.depth);
        const double scale = top > low ? odds_.slope / (top - low) : 0.0;
        for (std::int64_t j = 0; j < n_; ++j) {
            const auto at = static_cast<std::size_t>(j);
            logits_[at] = scale * (x[j] - low) + odds_.rank_weight * logs_[at];
        }
        if (!(top > low)) {
            for (std::int64_t j = 0; j < n_; ++j)
                logits_[static_cast<std::size_t>(j)] += odds_.slope;
        }
        return true;
    }

    std::int64_t size() const { return n_; }

    // Fills the probabilities of relevance at a level; returns their sum.
    double at_level(double level) {
        for (std::int64_t j = 0; j < n_; ++j) {
            p_[static_cast<std::size_t>(j)] =
                std::fabs(logits_[static_cast<std::size_t>(j)] + level);
        }
        exp_neg_array(p_.data(), n_, p_.data());
        double sum = 0.0;
        slope_ = 0.0;
        for (std::int64_t j = 0; j < n_; ++j) {
            const auto at = static_cast<std::size_t>(j);
            const double e = p_[at];
            const double likely = 1.0 / (1.0 + e);
            p_[at] = logits_[at] + level >= 0.0 ? likely : e * likely;
            sum += p_[at];
            slope_ += e * likely * likely;
        }
        return sum;
    }

    // Fills and returns the odds of relevance at the level at which the best result could have one.
    const double* relative_odds() {
        for (std::int64_t j = 0; j < n_; ++j) {
            const auto at = static_cast<std::size_t>(j);
            p_[at] = odds_.slope - logits_[at];
        }
        exp_neg_array(p_.data(), n_, p_.data());
        return p_.data();
    }

    // Returns the level at which `target` results are expected to be relevant.
    double level_of(double target) {
        // A list cannot hold more relevant results than results, nor surely all of them.
        const double wanted = std::min(target, 0.9 * static_cast<double>(n_));
        const auto middle = static_cast<std::size_t>(
            std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 0, n_ - 1));
        double low = -80.0, high = 80.0;
        double level = std::clamp(-logits_[middle], low, high);
        for (int step = 0; step < kMaxSteps; ++step) {
            const double over = at_level(level) - wanted;
            if (std::fabs(over) <= kClose * wanted) break;
            (over < 0.0 ? low : high) = level;
            const double next = slope_ > 0.0 ? level - over / slope_ : low;
            level = low < next && next < high ? next : 0.5 * (low + high);
        }
        return level;
    }

  private:
    const Lists& lists_;
    const Odds& odds_;
    std::vector<double> logs_, logits_, p_;
    std::int64_t n_ = 0;
    double slope_ = 0.0;  // derivative of the last sum by the level
};

}  // namespace

void find_levels(const Lists& lists, const Odds& odds, const double* targets, std::int64_t points,
                 double* levels) {
    ListOdds list(lists, odds);
    for (std::int64_t i = 0; i < lists.count; ++i) {
        const bool filled = list.load(i);
        for (std::int64_t j = i * points; j < (i + 1) * points; ++j) {
            levels[j] = filled ? list.level_of(targets[j]) : 0.0;
        }
    }
}

namespace {

constexpr double kLowestLevel = -14.0;  // the best result is relevant with probability 0.12
constexpr double kLevelStep = 1.5;
constexpr int kLevels = 12;  // up to a level at which most of any list is relevant
constexpr int kBumps = 2;
constexpr double kUnlikely = 1e-3;  // weight of a level that is not looked at

// Logarithms of positive numbers, as a difference of what the kernel can take: log(1 + x) -
// log(1 + 1 / x).
void logarithms(const double* x, double* logs) {
    double inverse[kLevels];
    for (int g = 0; g < kLevels; ++g) inverse[g] = 1.0 / x[g];
    log1p_array(x, kLevels, logs);
    log1p_array(inverse, kLevels, inverse);
    for (int g = 0; g < kLevels; ++g) logs[g] -= inverse[g];
}

// Weights of the levels: the believed density of the logarithm of the number of relevant results,
// which is `numbers` at each level, over the stretch of it that the level stands for. Each of the
// bumps keeps its share, however much of it lies beyond what the list can hold.
void weigh(const double* belief, const double* numbers, double* weights) {
    std::fill(weights, weights + kLevels, 0.0);
    for (int bump = 0; bump < kBumps; ++bump) {
        const double share = belief[3 * bump], sd = belief[3 * bump + 2];
        if (!(share > 0.0)) continue;
        double density[kLevels], sum = 0.0, least = INFINITY;
        for (int g = 0; g < kLevels; ++g) {
            const double z = (numbers[g] - belief[3 * bump + 1]) / sd;
            density[g] = 0.5 * z * z;
            least = std::min(least, density[g]);
        }
        // What the list cannot hold is far from every level; the nearest counts most.
        for (int g = 0; g < kLevels; ++g) density[g] -= least;
        exp_neg_array(density, kLevels, density);
        for (int g = 0; g < kLevels; ++g) {
            const int before = std::max(g - 1, 0), after = std::min(g + 1, kLevels - 1);
            density[g] *= (numbers[after] - numbers[before]) / (after - before);
            sum += density[g];
        }
        for (int g = 0; g < kLevels; ++g) weights[g] += share * density[g] / sum;
    }
    for (int g = 0; g < kLevels; ++g) weights[g] = weights[g] < kUnlikely ? 0.0 : weights[g];
}

}  // namespace

void believed_cuts(const Lists& lists, const Odds& odds, const double* beliefs, double beta_squared,
                   std::int64_t* cuts) {
    ListOdds list(lists, odds);
    double factors[kLevels], weights[kLevels], totals[kLevels], numbers[kLevels], hits[kLevels];
    for (int g = 0; g < kLevels; ++g) {
        factors[g] = std::fabs(kLowestLevel + kLevelStep * g + odds.slope);
    }
    exp_neg_array(factors, kLevels, factors);
    for (int g = 0; g < kLevels; ++g) {
        if (kLowestLevel + kLevelStep * g + odds.slope > 0.0) factors[g] = 1.0 / factors[g];
    }
    std::vector<double> p;
    for (std::int64_t i = 0; i < lists.count; ++i) {
        cuts[i] = 0;
        if (!list.load(i)) continue;
        const double* odd = list.relative_odds();
        p.resize(static_cast<std::size_t>(list.size()) * kLevels);
        std::fill(totals, totals + kLevels, 0.0);
        for (std::int64_t k = 0; k < list.size(); ++k) {
            double* row = p.data() + k * kLevels;
            for (int g = 0; g < kLevels; ++g) {
                const double x = odd[k] * factors[g];
                row[g] = x / (1.0 + x);
                totals[g] += row[g];
            }
        }
        logarithms(totals, numbers);
        weigh(beliefs + i * 3 * kBumps, numbers, weights);
        std::fill(hits, hits + kLevels, 0.0);
        double best = 0.0;
        for (std::int64_t k = 0; k < list.size(); ++k) {
            const double* row = p.data() + k * kLevels;
            const double kept = static_cast<double>(k + 1);
            double value = 0.0;
            int rising = 0;
            for (int g = 0; g < kLevels; ++g) {
                hits[g] += row[g];
                const double share = hits[g] / (kept + beta_squared * totals[g]);
                value += weights[g] * share;
                rising += (weights[g] > 0.0) & (row[g] > share);
            }
            if (value > best) {
                best = value;
                cuts[i] = k + 1;
            }
            // The value at each level rises to one peak; past all of them nothing can follow.
            if (rising == 0) break;
        }
    }
}

}  // namespace paretocut::cuts
