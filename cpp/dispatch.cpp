// The public face of the kernel: choice of the instruction set, preparation of lists, threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
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

// The end that the caller's watch asks for, seen by all threads.
class Shared {
  public:
    explicit Shared(const Watch& watch) : watch_(watch) {}

    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

    // Asks the watch; for the calling thread.
    bool ask() {
        if (watch_.stop != nullptr && watch_.stop(watch_.context)) {
            stopped_.store(true, std::memory_order_relaxed);
        }
        return stopped();
    }

    // What a thread looks at during one list; the calling thread is worker 0.
    Watch watch(int worker) {
        if (worker == 0)
            return {[](void* self) { return static_cast<Shared*>(self)->ask(); }, this};
        return {[](void* self) { return static_cast<Shared*>(self)->stopped(); }, this};
    }

  private:
    const Watch watch_;
    std::atomic<bool> stopped_{false};
};

// Runs body(worker, index) for every index in [0, count), `chunk` at a time, on several threads,
// until all is done or the watch asks for an end.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t chunk, int threads, Shared& shared,
                  const Body& body) {
    std::atomic<std::int64_t> next{0};
    const auto work = [&](int worker) {
        for (;;) {
            if (shared.stopped()) return;
            const std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= count) return;
            const std::int64_t end = std::min(begin + chunk, count);
            for (std::int64_t i = begin; i < end; ++i) body(worker, i);
            if (worker == 0) shared.ask();
        }
    };
    std::mutex mutex;
    std::condition_variable ended;
    int running = 0;
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
    for (int worker = 1; worker < threads; ++worker) {
        try {
            others.emplace_back([&, worker] {
                work(worker);
                const std::lock_guard lock(mutex);
                --running;
                ended.notify_one();
            });
        } catch (const std::system_error&) {
            break;  // no more threads to be had: the ones running do all the work
        }
        const std::lock_guard lock(mutex);
        ++running;
    }
    work(0);
    {
        // Others may be at work for long, and only this thread may ask.
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; })) {
            lock.unlock();
            shared.ask();
            lock.lock();
        }
    }
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

    // Scores are brought near 1 by a power of two: exact, and out of the way of overflow. The
    // exponent of the smallest doubles has no reciprocal, hence the bound.
    double largest = std::max(std::fabs(scores[0]), std::fabs(scores[n - 1]));
    if (order == Order::kUnsorted) {
        for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(scores[i]));
    }
    const int exponent = largest > 0.0 ? std::clamp(std::ilogb(largest), -1000, 1000) : 0;
    const double factor = std::ldexp(options.sign, -exponent);
    if (order == Order::kDescending) {
        for (std::int64_t i = 0; i < n; ++i) scratch[i] = scores[n - 1 - i] * factor;
    } else {
        for (std::int64_t i = 0; i < n; ++i) scratch[i] = scores[i] * factor;
        if (order == Order::kUnsorted) std::sort(scratch, scratch + n);
    }
    // What is read behind the last score is not used, but must be no negative excess either.
    std::fill(scratch + n, scratch + padded(n), scratch[n - 1]);

    fit->threshold = scratch[0] / factor;
    if (n < options.min_window) fit->flags |= kTooFew;
    if (!(scratch[0] < scratch[n - 1])) fit->flags |= kConstant;
    if (fit->flags) {
        std::fill(surprise, surprise + n, 0.0);
        return -1;
    }

    const Selection selection = run.select(scratch, n, options);
    if (selection.stopped) return kStopped;
    const double threshold = scratch[selection.lower];
    fit->shape = selection.tail.shape;
    fit->scale =
        std::clamp(selection.tail.scale / std::fabs(factor),
                   std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max());
    fit->threshold = threshold / factor;
    fit->cvm = selection.tail.cvm;
    fit->lower = selection.lower;
    fit->upper = selection.upper;
    fit->windows = selection.windows;
    fit->evaluations = selection.evaluations;
    if (selection.tail.no_interior_root) fit->flags |= kTiedThreshold;
    if (selection.limited) fit->flags |= kSearchLimited;
    run.rescore(scores, n, factor, threshold, selection.tail, surprise);
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
    Shared shared(options.watch);
    parallel_for(lists, chunk, threads, shared, [&](int worker, std::int64_t i) {
        const std::int64_t begin = offsets[i];
        Options own = options;
        own.watch = shared.watch(worker);
        const std::int64_t at =
            fit_list(values + begin, offsets[i + 1] - begin, own, scratch.data() + worker * room,
                     fits + i, surprise + begin);
        if (at >= 0) {
            std::int64_t seen = bad.load();
            while (begin + at < seen && !bad.compare_exchange_weak(seen, begin + at)) {
            }
        }
    });
    if (shared.stopped()) return kStopped;
    return bad.load() == std::numeric_limits<std::int64_t>::max() ? -1 : bad.load();
}

void cvm_rows(const double* excesses, std::int64_t rows, std::int64_t m, int threads,
              double* statistic, double* shape, double* scale) {
    const Engine& run = engine();
    const std::int64_t room = padded(m);
    threads = static_cast<int>(std::clamp<std::int64_t>(rows, 1, std::max(threads, 1)));
    std::vector<double> scratch(static_cast<std::size_t>(room) * static_cast<std::size_t>(threads));
    Shared shared({});
    parallel_for(rows, 64, threads, shared, [&](int worker, std::int64_t i) {
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
