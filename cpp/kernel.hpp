// The Surprise kernel: scores in, generalized Pareto tail and Surprise scores out.
//
// Plain C++, no Python headers. Nothing here throws for statistical trouble: a list that cannot be
// fitted gets a defined result and a flag. Notation as in the paper, with SciPy's sign of the
// shape: survival of an excess e is (1 + shape * e / scale)^(-1 / shape), or exp(-e / scale) at
// shape 0.
#pragma once

#include <cstdint>

namespace paretocut {

enum Flag : std::int32_t {
    kTooFew = 1,         // fewer scores than min_window: nothing fitted
    kConstant = 2,       // all scores equal: nothing fitted
    kTiedThreshold = 4,  // ties at the threshold leave no interior maximum: exponential used
    kSearchLimited = 8,  // the list is so long that the window search was stopped early
};

// Critical values of W2 at one level over a grid of shapes and of 1/m (both ascending), for
// selection by goodness of fit. Bilinear between grid points, constant outside.
struct GofTable {
    const double* shape_grid;
    const double* inverse_m_grid;
    const double* critical;  // [shape][inverse_m]
    std::int64_t shapes;
    std::int64_t sizes;
};

// Returned where the watch asked for an end; results are then incomplete.
constexpr std::int64_t kStopped = -2;

// Asked now and then, after some tenths of a millisecond of work, by the calling thread alone.
struct Watch {
    bool (*stop)(void* context) = nullptr;  // true ends the work
    void* context = nullptr;
};

struct Options {
    double sign = 1.0;              // -1 for distances
    std::int64_t min_window = 5;    // at least 2
    bool refit_all = false;         // fit scores[lower:] at the end instead of the window
    const GofTable* gof = nullptr;  // raise the threshold by goodness of fit instead of greedily
    Watch watch;
};

struct Fit {
    double shape = 0.0;
    double scale = 0.0;      // 0 when nothing was fitted
    double threshold = 0.0;  // the score at `lower`, in the caller's units and sign
    double cvm = 0.0;        // W2 of the fit on the scores it was fitted to
    std::int64_t lower = 0;  // window, as ranks of the ascending scores
    std::int64_t upper = 0;
    std::int32_t flags = 0;
    std::int32_t windows = 0;      // windows fitted
    std::int32_t evaluations = 0;  // passes over a window to find its shape
};

// A list of n scores needs room for padded(n) doubles of scratch.
constexpr std::int64_t padded(std::int64_t n) { return n + 8; }

// Fits one list. Scores may be in any order; `surprise` is written in the same order. Returns -1,
// or kStopped, or the index of the first score that is not finite, in which case nothing is
// written.
std::int64_t fit_list(const double* scores, std::int64_t n, const Options& options, double* scratch,
                      Fit* fit, double* surprise);

// Fits `lists` lists, list i being values[offsets[i] .. offsets[i + 1]), on `threads` threads.
// Returns -1 or kStopped or the flat index of the first score that is not finite.
std::int64_t fit_batch(const double* values, const std::int64_t* offsets, std::int64_t lists,
                       const Options& options, int threads, Fit* fits, double* surprise);

// Tail and W2 of samples of excesses, each fitted on its own: also the simulation behind the
// goodness-of-fit surface. Rows must be ascending and have no negative values.
void cvm_rows(const double* excesses, std::int64_t rows, std::int64_t m, int threads,
              double* statistic, double* shape, double* scale);

// Elementwise log(1 + x) for x >= 0 and exp(-x) for x >= 0, as the kernel computes them.
void log1p_array(const double* x, std::int64_t n, double* out);
void exp_neg_array(const double* x, std::int64_t n, double* out);

// The instruction sets compiled in and supported by this machine, best last, separated by spaces;
// the one in use; and the choice of another (for tests; returns false when it is not available).
const char* available_isas();
const char* current_isa();
bool use_isa(const char* name);

}  // namespace paretocut
