// The public face of the kernel: choice of the instruction set, preparation of lists, threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "engine.hpp"
#include "kernel.hpp"

namespace paretocut {
namespace {

struct Isa {
    const char* name;
    const Engine* engine;
};

std::vector<Isa> supported_isas() {
    std::vector<Isa> isas{{"baseline", &baseline::engine}};
#ifdef PARETOCUT_HAVE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) isas.push_back({"avx2", &avx2::engine});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        isas.push_back({"avx512", &avx512::engine});
    }
#endif
    return isas;
}

const std::vector<Isa>& isas() {
    static const std::vector<Isa> all = supported_isas();
    return all;
}

std::atomic<const Isa*>& current() {
    static std::atomic<const Isa*> chosen{&isas().back()};
    return chosen;
}

const Engine& engine() { return *current().load(std::memory_order_relaxed)->engine; }

// Runs body(worker, index) for every index in [0, count), `chunk` at a time, on several threads.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t chunk, int threads, const Body& body) {
    std::atomic<std::int64_t> next{0};
    const auto work = [&](int worker) {
        for (;;) {
            const std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= count) return;
            const std::int64_t end = std::min(begin + chunk, count);
            for (std::int64_t i = begin; i < end; ++i) body(worker, i);
        }
    };
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
    for (int worker = 1; worker < threads; ++worker) {
        try {
            others.emplace_back(work, worker);
        } catch (const std::system_error&) {
            break;  // no more threads to be had: the ones running do all the work
        }
    }
    work(0);
    for (std::thread& other : others) other.join();
}

std::int64_t first_not_finite(const double* scores, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        if (!std::isfinite(scores[i])) return i;
    }
    return -1;
}

}  // namespace

std::int64_t fit_list(const double* scores, std::int64_t n, const Options& options, double* scratch,
                      Fit* fit, double* surprise) {
    const Engine& run = engine();
    const Order order = run.inspect(scores, n, options.sign);
    if (order == Order::kNotFinite) return first_not_finite(scores, n);
    *fit = Fit{};
    fit->upper = n;
    if (n == 0) {
        fit->flags = kTooFew;
        return -1;
    }

    // Differences of scores near the largest double would overflow; this factor is exact.
    const double extreme = std::max(std::fabs(scores[0]), std::fabs(scores[n - 1]));
    double factor = options.sign;
    if (order == Order::kUnsorted || extreme > 0x1p1000) {
        double largest = 0.0;
        for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(scores[i]));
        if (largest > 0x1p1000) factor *= 0x1p-24;
    }
    if (order == Order::kDescending) {
        for (std::int64_t i = 0; i < n; ++i) scratch[i] = scores[n - 1 - i] * factor;
    } else {
        for (std::int64_t i = 0; i < n; ++i) scratch[i] = scores[i] * factor;
        if (order == Order::kUnsorted) std::sort(scratch, scratch + n);
    }
    std::fill(scratch + n, scratch + padded(n), 0.0);

    const double origin = scratch[0];
    const double spread = scratch[n - 1] - origin;
    fit->threshold = origin / factor;
    if (n < options.min_window) fit->flags |= kTooFew;
    if (!(spread > 0.0)) fit->flags |= kConstant;
    if (fit->flags) {
        std::fill(surprise, surprise + n, 0.0);
        return -1;
    }

    run.standardise(scratch, n, origin, spread);
    const Selection selection = run.select(scratch, n, options);
    fit->shape = selection.tail.shape;
    fit->scale = std::max(selection.tail.scale * spread / std::fabs(factor),
                          std::numeric_limits<double>::denorm_min());
    fit->scale = std::min(fit->scale, std::numeric_limits<double>::max());
    fit->cvm = selection.tail.cvm;
    fit->lower = selection.lower;
    fit->upper = selection.upper;
    fit->windows = selection.windows;
    fit->evaluations = selection.evaluations;
    if (selection.tail.no_interior_root) fit->flags |= kTiedThreshold;
    if (selection.limited) fit->flags |= kSearchLimited;

    // The threshold as the caller wrote it: the score of ascending rank `lower`.
    double threshold = origin;
    if (selection.lower > 0) {
        if (order == Order::kUnsorted) {
            for (std::int64_t i = 0; i < n; ++i) scratch[i] = scores[i] * factor;
            std::nth_element(scratch, scratch + selection.lower, scratch + n);
            threshold = scratch[selection.lower];
        } else {
            const std::int64_t at =
                order == Order::kDescending ? n - 1 - selection.lower : selection.lower;
            threshold = scores[at] * factor;
        }
    }
    fit->threshold = threshold / factor;
    run.rescore(scores, n, factor, threshold, spread, selection.tail, surprise);
    return -1;
}

std::int64_t fit_batch(const double* values, const std::int64_t* offsets, std::int64_t lists,
                       const Options& options, int threads, Fit* fits, double* surprise) {
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < lists; ++i) {
        longest = std::max(longest, offsets[i + 1] - offsets[i]);
    }
    threads = static_cast<int>(std::clamp<std::int64_t>(lists, 1, std::max(threads, 1)));
    const std::int64_t room = padded(longest);
    std::vector<double> scratch(static_cast<std::size_t>(room) * static_cast<std::size_t>(threads));
    std::atomic<std::int64_t> bad{std::numeric_limits<std::int64_t>::max()};
    const std::int64_t total = lists > 0 ? offsets[lists] - offsets[0] : 0;
    const std::int64_t chunk =
        std::clamp<std::int64_t>(16384 * lists / std::max<std::int64_t>(total, 1), 1, 64);
    parallel_for(lists, chunk, threads, [&](int worker, std::int64_t i) {
        const std::int64_t begin = offsets[i];
        const std::int64_t at =
            fit_list(values + begin, offsets[i + 1] - begin, options, scratch.data() + worker * room,
                     fits + i, surprise + begin);
        if (at >= 0) {
            std::int64_t seen = bad.load();
            while (begin + at < seen && !bad.compare_exchange_weak(seen, begin + at)) {
            }
        }
    });
    return bad.load() == std::numeric_limits<std::int64_t>::max() ? -1 : bad.load();
}

void cvm_rows(const double* excesses, std::int64_t rows, std::int64_t m, int threads,
              double* statistic, double* shape, double* scale) {
    const Engine& run = engine();
    const std::int64_t room = padded(m);
    threads = static_cast<int>(std::clamp<std::int64_t>(rows, 1, std::max(threads, 1)));
    std::vector<double> scratch(static_cast<std::size_t>(room) * static_cast<std::size_t>(threads));
    parallel_for(rows, 64, threads, [&](int worker, std::int64_t i) {
        double* e = scratch.data() + worker * room;
        std::copy(excesses + i * m, excesses + (i + 1) * m, e);
        const Tail tail = run.fit(e, m);
        statistic[i] = tail.cvm;
        shape[i] = tail.shape;
        scale[i] = tail.scale;
    });
}

void log1p_array(const double* x, std::int64_t n, double* out) { engine().log1p_array(x, n, out); }
void exp_neg_array(const double* x, std::int64_t n, double* out) {
    engine().exp_neg_array(x, n, out);
}

const char* available_isas() {
    static const std::string names = [] {
        std::string joined;
        for (const Isa& isa : isas()) {
            if (!joined.empty()) joined += ' ';
            joined += isa.name;
        }
        return joined;
    }();
    return names.c_str();
}

const char* current_isa() { return current().load()->name; }

bool use_isa(const char* name) {
    for (const Isa& isa : isas()) {
        if (std::string(name) == isa.name) {
            current().store(&isa);
            return true;
        }
    }
    return false;
}

}  // namespace paretocut
