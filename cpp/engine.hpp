// What one instruction set's build of the engine offers. Internal to the kernel.
#pragma once

#include <cstdint>

#include "kernel.hpp"

namespace paretocut {

// A generalized Pareto tail in units of the scaled scores.
struct Tail {
    double theta = 0.0;  // shape / scale; 0 means exponential
    double shape = 0.0;
    double scale = 0.0;  // 0 means the window is constant
    double cvm = 0.0;
    bool no_interior_root = false;
};

struct Selection {
    Tail tail;
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    std::int32_t windows = 0;
    std::int32_t evaluations = 0;
    bool limited = false;
    bool stopped = false;
};

enum class Order { kAscending, kDescending, kUnsorted, kNotFinite };

struct Engine {
    // The order of the scores once multiplied by their sign.
    Order (*inspect)(const double* scores, std::int64_t n, double sign);
    // Window search and fit on ascending scores e, with 8 readable doubles behind.
    Selection (*select)(const double* e, std::int64_t n, const Options& options);
    // Fit and W2 of ascending excesses, with 8 readable doubles behind.
    Tail (*fit)(const double* e, std::int64_t m);
    // surprise of factor * scores[i]
    void (*rescore)(const double* scores, std::int64_t n, double factor, double threshold,
                    const Tail& tail, double* surprise);
    void (*log1p_array)(const double* x, std::int64_t n, double* out);
    void (*exp_neg_array)(const double* x, std::int64_t n, double* out);
};

// One per instruction set; only the first is built everywhere.
namespace baseline {
extern const Engine engine;
}
namespace avx2 {
extern const Engine engine;
}
namespace avx512 {
extern const Engine engine;
}

}  // namespace paretocut
