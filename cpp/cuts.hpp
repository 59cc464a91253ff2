// Cuts of ranked lists by simple rules, and by the expected F-measure.
//
// Plain C++, no Python headers. Lists are finite and fall from the best result to the worst; list i
// is values[offsets[i] .. offsets[i + 1]). The order of additions is fixed, so that results do not
// depend on the machine.
#pragma once

#include <cstdint>

namespace paretocut::cuts {

struct Lists {
    const double* values;
    const std::int64_t* offsets;
    std::int64_t count;
};

// What a result is judged by. A key is a weighted sum of these; it must not rise down a list.
enum Column : int {
    kRank,     // 1, 2, ...
    kLogRank,  // its logarithm
    kMinMax,   // 1 for the best and 0 for the worst result of the list; 1 in a constant list
    kTop,      // min-max over its mean in the first five results
    kZ,        // mean 0 and standard deviation 1 over the list; 0 in a constant list
    kRaw,      // the score on the scale of the system, within [-9, 9]
    kColumns
};

// A rule keeps the results whose key reaches its threshold: rules x kColumns weights.
struct Rules {
    const double* weights;
    const double* thresholds;
    std::int64_t count;
    double center;  // scale of the raw score: (score - center) / spread
    double spread;
};

// Counts the results that each rule keeps: lists x rules.
void count_kept(const Lists& lists, const Rules& rules, std::int64_t* counts);

// Log-odds of relevance inside a list, up to a level: slope * min-max + rank_weight * log(rank).
// The range of min-max begins at the lowest score. In a list of fewer than `depth` results it
// begins where the score of that rank would stand if scores went on to fall with the logarithm of
// the rank, as slowly as they did over the last half or three quarters of the list; but it does not
// double the size of the lowest score, so that it does not cross 0. The same results then have
// about the same range, whether 10 or 200 were fetched.
struct Odds {
    double slope;
    double rank_weight;
    double depth;
};

// Counts the results in the upper `share` of each list's range, and gives where that range begins.
void upper_part(const Lists& lists, double depth, double share, std::int64_t* counts, double* lows);

// Looks at lists as the user gave them: gives the index of the first score that is not finite, or
// whether all lists stand best first (scores that fall, or distances that rise).
constexpr std::int64_t kInOrder = -1, kUnsorted = -2;
std::int64_t survey(const Lists& lists, bool falling);

// Finds the places of the results of every list, best first; equal ones stay in their order.
void sort_lists(const Lists& lists, bool falling, std::int64_t* order);

// Finds the level at which each of `targets` results (lists x points) are expected to be relevant.
void find_levels(const Lists& lists, const Odds& odds, const double* targets, std::int64_t points,
                 double* levels);

// Finds the cut with the highest expected F-measure (beta_squared is 1 for F1), for a belief about
// the number of relevant results in each list: two log-normals, each with its share, and mean and
// standard deviation of the logarithm (lists x 6). A fixed grid of levels is weighted by how well
// the number that each level expects agrees with the belief.
void believed_cuts(const Lists& lists, const Odds& odds, const double* beliefs, double beta_squared,
                   std::int64_t* cuts);

}  // namespace paretocut::cuts
