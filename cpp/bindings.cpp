// The Python module paretocut._kernel: arrays in, arrays out. Checks of what users pass are made in
// Python; what is checked here is only what keeps the kernel inside its arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cuts.hpp"
#include "fuse.hpp"
#include "kernel.hpp"
#include "numbers.hpp"
#include "trec.hpp"
#include "warnings.hpp"

namespace nb = nanobind;

namespace {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Below this many scores a fit usually takes less time than handing the interpreter over and back.
constexpr std::int64_t kReleaseFrom = 2048;

// How often work without the interpreter looks whether Ctrl-C was pressed.
constexpr auto kLookEvery = std::chrono::milliseconds(50);

// Takes the interpreter back. Up to Python 3.13 a thread that asks for it while it is being shut
// down is ended by unwinding its stack, which C++ answers by ending the process. Such a thread is
// put to sleep instead, for the little time that is left, as Python itself does from 3.14 on.
void take_back(PyThreadState* state) {
    struct SleepWhenUnwound {
        bool taken = false;
        ~SleepWhenUnwound() {
            while (!taken) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    } guard;
    PyEval_RestoreThread(state);
    guard.taken = true;
}

// Work without the interpreter, from the start or once it turns out to be long; the watch of the
// kernel lets Python handle signals meanwhile.
class Unlocked {
  public:
    void release() {
        if (state_ == nullptr) state_ = PyEval_SaveThread();
    }

    void finish() {
        if (state_ != nullptr) take_back(std::exchange(state_, nullptr));
    }

    paretocut::Watch watch() {
        return {[](void* self) { return static_cast<Unlocked*>(self)->look(); }, this};
    }

  private:
    // True when the handler of a signal has raised an exception.
    bool look() {
        const auto now = std::chrono::steady_clock::now();
        if (state_ == nullptr) {
            release();
            looked_ = now;
        } else if (now - looked_ > kLookEvery) {
            finish();
            const bool raised = PyErr_CheckSignals() != 0;
            release();
            looked_ = std::chrono::steady_clock::now();
            return raised;
        }
        return false;
    }

    PyThreadState* state_ = nullptr;
    std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

// The result of work(), done without the interpreter.
template <class Work>
auto without_interpreter(Unlocked& unlocked, const Work& work) {
    unlocked.release();
    try {
        const auto result = work();
        unlocked.finish();
        return result;
    } catch (...) {
        unlocked.finish();
        throw;
    }
}

template <class Work>
auto without_interpreter(const Work& work) {
    Unlocked unlocked;
    return without_interpreter(unlocked, work);
}

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

std::int64_t size(const auto& array) { return static_cast<std::int64_t>(array.shape(0)); }

// Critical values for the selection by goodness of fit; alive as long as the arrays it points to.
struct Gof {
    In<double> shapes;
    In<double> inverse_sizes;
    InMatrix<double> critical;

    paretocut::GofTable table() const {
        return {shapes.data(), inverse_sizes.data(), critical.data(), size(shapes),
                size(inverse_sizes)};
    }
};

paretocut::Options make_options(double sign, std::int64_t min_window, bool refit_all,
                                const paretocut::GofTable* gof) {
    paretocut::Options options;
    options.sign = sign;
    options.min_window = min_window;
    options.refit_all = refit_all;
    options.gof = gof;
    return options;
}

nb::object fit_list(In<double> scores, double sign, std::int64_t min_window, bool refit_all,
                    const Gof* gof, Out<double> surprise) {
    const std::int64_t n = size(scores);
    require(size(surprise) == n, "surprise must be as long as scores");
    paretocut::GofTable table{};
    if (gof != nullptr) table = gof->table();
    paretocut::Options options =
        make_options(sign, min_window, refit_all, gof != nullptr ? &table : nullptr);
    Unlocked unlocked;
    options.watch = unlocked.watch();
    if (n >= kReleaseFrom) unlocked.release();
    // Not one buffer per thread: where the interpreter is given up, others may come in between.
    const std::unique_ptr<double[]> scratch(
        new (std::nothrow) double[static_cast<std::size_t>(paretocut::padded(n))]);
    paretocut::Fit fit;
    std::int64_t bad = -1;
    if (scratch != nullptr) {
        bad = paretocut::fit_list(scores.data(), n, options, scratch.get(), &fit, surprise.data());
    }
    unlocked.finish();
    if (scratch == nullptr) throw std::bad_alloc();
    if (bad == paretocut::kStopped) throw nb::python_error();
    if (bad >= 0) return nb::int_(bad);
    return nb::make_tuple(fit.shape, fit.scale, fit.threshold, fit.cvm, fit.lower, fit.upper,
                          fit.flags, fit.windows, fit.evaluations);
}

std::int64_t fit_batch(In<double> values, In<std::int64_t> offsets, double sign,
                       std::int64_t min_window, bool refit_all, const Gof* gof, int threads,
                       Out<double> surprise, Out<double> shape, Out<double> scale,
                       Out<double> threshold, Out<double> cvm, Out<std::int64_t> lower,
                       Out<std::int64_t> upper, Out<std::int32_t> flags, Out<std::int32_t> windows,
                       Out<std::int32_t> evaluations) {
    require(size(offsets) >= 1, "offsets must not be empty");
    const std::int64_t lists = size(offsets) - 1;
    const std::int64_t* offset = offsets.data();
    require(offset[0] >= 0 && offset[lists] <= size(values), "offsets must lie inside values");
    for (std::int64_t i = 0; i < lists; ++i) {
        require(offset[i] <= offset[i + 1], "offsets must not decrease");
    }
    require(size(surprise) == size(values), "surprise must be as long as values");
    for (const std::int64_t length :
         {size(shape), size(scale), size(threshold), size(cvm), size(lower), size(upper),
          size(flags), size(windows), size(evaluations)}) {
        require(length == lists, "there must be one result per list");
    }
    paretocut::GofTable table{};
    if (gof != nullptr) table = gof->table();
    paretocut::Options options =
        make_options(sign, min_window, refit_all, gof != nullptr ? &table : nullptr);
    Unlocked unlocked;
    options.watch = unlocked.watch();
    std::vector<paretocut::Fit> fits(static_cast<std::size_t>(lists));
    const std::int64_t bad = without_interpreter(unlocked, [&] {
        return paretocut::fit_batch(values.data(), offset, lists, options, threads, fits.data(),
                                    surprise.data());
    });
    if (bad == paretocut::kStopped) throw nb::python_error();
    for (std::int64_t i = 0; i < lists; ++i) {
        const paretocut::Fit& fit = fits[static_cast<std::size_t>(i)];
        shape.data()[i] = fit.shape;
        scale.data()[i] = fit.scale;
        threshold.data()[i] = fit.threshold;
        cvm.data()[i] = fit.cvm;
        lower.data()[i] = fit.lower;
        upper.data()[i] = fit.upper;
        flags.data()[i] = fit.flags;
        windows.data()[i] = fit.windows;
        evaluations.data()[i] = fit.evaluations;
    }
    return bad;
}

void cvm_rows(InMatrix<double> excesses, int threads, Out<double> statistic, Out<double> shape,
              Out<double> scale) {
    const std::int64_t rows = size(excesses);
    const auto m = static_cast<std::int64_t>(excesses.shape(1));
    require(m >= 1, "rows must not be empty");
    require(size(statistic) == rows && size(shape) == rows && size(scale) == rows,
            "there must be one result per row");
    without_interpreter([&] {
        paretocut::cvm_rows(excesses.data(), rows, m, threads, statistic.data(), shape.data(),
                            scale.data());
        return true;
    });
}

void register_surprise(nb::module_& m) {
    nb::class_<Gof>(m, "Gof", "Critical values of W2 over a grid of shapes and of 1/m.")
        .def(
            "__init__",
            [](Gof* self, In<double> shapes, In<double> inverse_sizes, InMatrix<double> critical) {
                require(size(shapes) >= 2 && size(inverse_sizes) >= 2 &&
                            critical.shape(0) == shapes.shape(0) &&
                            critical.shape(1) == inverse_sizes.shape(0),
                        "critical must have one row per shape and one column per size");
                new (self) Gof{shapes, inverse_sizes, critical};
            },
            nb::arg("shapes"), nb::arg("inverse_sizes"), nb::arg("critical"));
    m.def("fit_list", &fit_list, nb::arg("scores"), nb::arg("sign"), nb::arg("min_window"),
          nb::arg("refit_all"), nb::arg("gof").none(), nb::arg("surprise").noconvert(),
          "Fit one list; the numbers of the fit, or the index of a score that is not finite.");
    m.def("fit_batch", &fit_batch, nb::arg("values"), nb::arg("offsets"), nb::arg("sign"),
          nb::arg("min_window"), nb::arg("refit_all"), nb::arg("gof").none(), nb::arg("threads"),
          nb::arg("surprise").noconvert(), nb::arg("shape").noconvert(),
          nb::arg("scale").noconvert(), nb::arg("threshold").noconvert(),
          nb::arg("cvm").noconvert(), nb::arg("lower").noconvert(), nb::arg("upper").noconvert(),
          nb::arg("flags").noconvert(), nb::arg("windows").noconvert(),
          nb::arg("evaluations").noconvert(),
          "Fit many lists; -1, or the flat index of a score that is not finite.");
    m.def("cvm_rows", &cvm_rows, nb::arg("excesses"), nb::arg("threads"),
          nb::arg("statistic").noconvert(), nb::arg("shape").noconvert(),
          nb::arg("scale").noconvert(), "Fit and W2 of each ascending row.");
    m.def(
        "log1p",
        [](In<double> x, Out<double> out) {
            require(size(x) == size(out), "out must be as long as x");
            paretocut::log1p_array(x.data(), size(x), out.data());
        },
        nb::arg("x"), nb::arg("out").noconvert(), "log(1 + x) for x >= 0, as the kernel has it.");
    m.def(
        "exp_neg",
        [](In<double> x, Out<double> out) {
            require(size(x) == size(out), "out must be as long as x");
            paretocut::exp_neg_array(x.data(), size(x), out.data());
        },
        nb::arg("x"), nb::arg("out").noconvert(), "exp(-x) for x >= 0, as the kernel has it.");
    m.def("available_isas", &paretocut::available_isas, "Instruction sets usable here, best last.");
    m.def("current_isa", &paretocut::current_isa, "Instruction set in use.");
    m.def("use_isa", &paretocut::use_isa, nb::arg("name"), "Choose an instruction set; for tests.");
}

// --- cuts: simple rules and expected F-measures ---

paretocut::cuts::Lists lists_of(const In<double>& values, const In<std::int64_t>& offsets) {
    require(size(offsets) >= 1, "offsets must not be empty");
    const std::int64_t count = size(offsets) - 1;
    const std::int64_t* offset = offsets.data();
    require(offset[0] >= 0 && offset[count] <= size(values), "offsets must lie inside values");
    for (std::int64_t i = 0; i < count; ++i) {
        require(offset[i] <= offset[i + 1], "offsets must not decrease");
    }
    return {values.data(), offset, count};
}

void count_kept(In<double> values, In<std::int64_t> offsets, InMatrix<double> weights,
                In<double> thresholds, double center, double spread,
                nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> counts) {
    const paretocut::cuts::Lists lists = lists_of(values, offsets);
    const std::int64_t rules = size(thresholds);
    require(size(weights) == rules && weights.shape(1) == paretocut::cuts::kColumns,
            "weights must have one row per rule and one entry per column");
    require(size(counts) == lists.count && static_cast<std::int64_t>(counts.shape(1)) == rules,
            "there must be one count per list and rule");
    without_interpreter([&] {
        paretocut::cuts::count_kept(
            lists, {weights.data(), thresholds.data(), rules, center, spread}, counts.data());
        return true;
    });
}

void upper_part(In<double> values, In<std::int64_t> offsets, double depth, double share,
                Out<std::int64_t> counts, Out<double> lows) {
    const paretocut::cuts::Lists lists = lists_of(values, offsets);
    require(size(counts) == lists.count && size(lows) == lists.count,
            "there must be one count and one low end per list");
    paretocut::cuts::upper_part(lists, depth, share, counts.data(), lows.data());
}

std::int64_t survey(In<double> values, In<std::int64_t> offsets, bool falling) {
    return paretocut::cuts::survey(lists_of(values, offsets), falling);
}

void diagnose(In<double> values, In<std::int64_t> offsets, Out<std::uint8_t> warnings) {
    const paretocut::cuts::Lists lists = lists_of(values, offsets);
    require(size(warnings) == lists.count, "there must be room for the warnings of each list");
    paretocut::warnings::diagnose(lists, warnings.data());
}

void sort_lists(In<double> values, In<std::int64_t> offsets, bool falling,
                Out<std::int64_t> order) {
    const paretocut::cuts::Lists lists = lists_of(values, offsets);
    require(size(order) == size(values), "there must be one place per score");
    without_interpreter([&] {
        paretocut::cuts::sort_lists(lists, falling, order.data());
        return true;
    });
}

void find_levels(In<double> values, In<std::int64_t> offsets, double slope, double rank_weight,
                 double depth, InMatrix<double> targets,
                 nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> levels) {
    const paretocut::cuts::Lists lists = lists_of(values, offsets);
    require(size(targets) == lists.count && size(levels) == lists.count &&
                targets.shape(1) == levels.shape(1),
            "there must be one row of targets and of levels per list");
    without_interpreter([&] {
        paretocut::cuts::find_levels(lists, {slope, rank_weight, depth}, targets.data(),
                                     static_cast<std::int64_t>(targets.shape(1)), levels.data());
        return true;
    });
}

void believed_cuts(In<double> values, In<std::int64_t> offsets, double slope, double rank_weight,
                   double depth, InMatrix<double> beliefs, double beta_squared,
                   Out<std::int64_t> cuts) {
    const paretocut::cuts::Lists lists = lists_of(values, offsets);
    require(size(beliefs) == lists.count && size(cuts) == lists.count && beliefs.shape(1) == 6,
            "there must be six numbers of belief and one cut per list");
    nb::gil_scoped_release release;
    paretocut::cuts::believed_cuts(lists, {slope, rank_weight, depth}, beliefs.data(), beta_squared,
                                   cuts.data());
}

void register_cuts(nb::module_& m) {
    m.def("count_kept", &count_kept, nb::arg("values"), nb::arg("offsets"), nb::arg("weights"),
          nb::arg("thresholds"), nb::arg("center"), nb::arg("spread"),
          nb::arg("counts").noconvert(), "Results of each falling list that each rule keeps.");
    m.def("upper_part", &upper_part, nb::arg("values"), nb::arg("offsets"), nb::arg("depth"),
          nb::arg("share"), nb::arg("counts").noconvert(), nb::arg("lows").noconvert(),
          "Results of each falling list in the upper share of its range; where the range begins.");
    m.def("survey", &survey, nb::arg("values"), nb::arg("offsets"), nb::arg("falling"),
          "Index of the first score that is not finite, or -1 if every list stands best first, or "
          "-2 if some list does not.");
    m.def("diagnose", &diagnose, nb::arg("values"), nb::arg("offsets"),
          nb::arg("warnings").noconvert(),
          "Warnings of each falling list: 1 heavy ties, 2 rank only, 4 saturated, 8 rescaled.");
    m.def("sort_lists", &sort_lists, nb::arg("values"), nb::arg("offsets"), nb::arg("falling"),
          nb::arg("order").noconvert(),
          "Places of the results of every list, best first; equal ones stay in their order.");
    m.def("find_levels", &find_levels, nb::arg("values"), nb::arg("offsets"), nb::arg("slope"),
          nb::arg("rank_weight"), nb::arg("depth"), nb::arg("targets"),
          nb::arg("levels").noconvert(), "Levels at which so many results are expected relevant.");
    m.def("believed_cuts", &believed_cuts, nb::arg("values"), nb::arg("offsets"), nb::arg("slope"),
          nb::arg("rank_weight"), nb::arg("depth"), nb::arg("beliefs"), nb::arg("beta_squared"),
          nb::arg("cuts").noconvert(),
          "Cuts with the highest expected F-measure, for a belief about the number of relevant "
          "results.");
}

// --- lines of text ---

nb::bytes lines(const std::vector<std::string_view>& heads, InMatrix<double> numbers,
                const std::vector<int>& digits, const std::vector<std::string_view>& ends) {
    const std::size_t rows = heads.size(), columns = ends.size();
    require(numbers.shape(0) == columns && numbers.shape(1) == rows && digits.size() == columns,
            "there must be one row of numbers per column, and one number per head");
    for (const int number : digits) require(0 <= number && number <= 17, "digits must be 0 to 17");
    std::string out;
    for (std::size_t i = 0; i < rows; ++i) {
        out += heads[i];
        for (std::size_t j = 0; j < columns; ++j) {
            paretocut::write_double(out, numbers.data()[j * rows + i], digits[j]);
            out += ends[j];
        }
    }
    return nb::bytes(out.data(), out.size());
}

void register_lines(nb::module_& m) {
    m.def(
        "lines", &lines, nb::arg("heads"), nb::arg("numbers"), nb::arg("digits"), nb::arg("ends"),
        "Each head with its numbers, every one followed by its end. Digits are of \".{digits}g\"; "
        "0 means as many as the number needs.");
}

// --- trec: reading of runs and judgements ---

namespace trec = paretocut::trec;

template <class T>
nb::ndarray<nb::numpy, T> new_array(std::initializer_list<std::size_t> shape) {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    T* data = new T[count];
    return nb::ndarray<nb::numpy, T>(
        data, shape, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

// False when the text is broken; the reader's `problem` then says how.
bool good(trec::Status status) {
    if (status == trec::Status::no_memory) throw std::bad_alloc();
    return status == trec::Status::ok;
}

bool feed(trec::Reader& reader, nb::bytes chunk) {
    const char* data = chunk.c_str();
    const std::size_t length = chunk.size();
    return without_interpreter([&] { return good(reader.feed(data, length)); });
}

nb::tuple problem(const trec::Reader& reader) {
    const std::string& text = reader.problem();  // bytes, because it quotes the file
    return nb::make_tuple(reader.problem_line(), nb::bytes(text.data(), text.size()));
}

nb::list query_ids(const trec::Reader& reader) {
    nb::list ids;
    for (const std::string& id : reader.query_ids()) ids.append(nb::bytes(id.data(), id.size()));
    return ids;
}

nb::tuple emit(trec::Reader& reader) {
    auto offsets = new_array<std::int64_t>({reader.queries() + 1});
    auto values = new_array<double>({reader.rows()});
    auto doc_ids = new_array<std::uint8_t>({reader.rows(), reader.doc_width()});
    without_interpreter([&] {
        reader.emit(offsets.data(), values.data(), reinterpret_cast<char*>(doc_ids.data()));
        return true;
    });
    return nb::make_tuple(offsets, values, doc_ids);
}

trec::Documents documents(const InMatrix<std::uint32_t>& ids, const In<std::int64_t>& offsets) {
    require(size(offsets) >= 1 && offsets.data()[0] == 0 &&
                offsets.data()[size(offsets) - 1] == size(ids),
            "offsets must go from 0 to the number of ids");
    for (std::int64_t i = 1; i < size(offsets); ++i) {
        require(offsets.data()[i - 1] <= offsets.data()[i], "offsets must not decrease");
    }
    return {ids.data(), ids.shape(1), offsets.data()};
}

nb::ndarray<nb::numpy, std::int32_t> judge(InMatrix<std::uint32_t> ids, In<std::int64_t> offsets,
                                           In<std::int64_t> judged_as,
                                           InMatrix<std::uint32_t> judged_ids,
                                           In<std::int64_t> judged_offsets,
                                           In<std::int32_t> judged_grades) {
    const trec::Documents results = documents(ids, offsets);
    const trec::Documents judged = documents(judged_ids, judged_offsets);
    require(size(judged_as) == size(offsets) - 1, "judged_as must have one entry per list");
    require(size(judged_grades) == size(judged_ids), "there must be one grade per judged id");
    for (std::int64_t i = 0; i < size(judged_as); ++i) {
        require(judged_as.data()[i] < size(judged_offsets) - 1, "judged_as must name a query");
    }
    auto grades = new_array<std::int32_t>({ids.shape(0)});
    without_interpreter([&] {
        return good(trec::judge(results, {judged_as.data(), judged_as.shape(0)}, judged,
                                judged_grades.data(), grades.data()));
    });
    return grades;
}

void register_trec(nb::module_& m) {
    nb::class_<trec::Reader>(m, "TrecReader", "Parser of a TREC run or of judgements, fed bytes.")
        .def(
            "__init__",
            [](trec::Reader* self, bool qrels, bool negate, std::size_t lines_before) {
                const trec::Kind kind = qrels ? trec::Kind::qrels : trec::Kind::run;
                new (self) trec::Reader(kind, negate, lines_before);
            },
            nb::arg("qrels"), nb::arg("negate"), nb::arg("lines_before") = 0)
        .def("feed", &feed, nb::arg("chunk"), "Take the next bytes; False when they are broken.")
        .def(
            "finish",
            [](trec::Reader& self) {
                return without_interpreter([&] { return good(self.finish()); });
            },
            "End the file, group and sort; False when something is broken.")
        .def_prop_ro("problem", &problem, "Line and description of what is broken.")
        .def_prop_ro("lines", &trec::Reader::lines, "Complete lines of the file so far.")
        .def_prop_ro("query_ids", &query_ids, "Query ids in order of first appearance.")
        .def("first_line", &trec::Reader::first_line, nb::arg("query"),
             "Line on which a query first appears.")
        .def("emit", &emit, "Offsets, scores or grades, and ids; once, after finish.");
    m.def("trec_judge", &judge, nb::arg("ids"), nb::arg("offsets"), nb::arg("judged_as"),
          nb::arg("judged_ids"), nb::arg("judged_offsets"), nb::arg("judged_grades"),
          "Grade of every id; judged_as names the judgements of each list, or is negative.");
}

// --- fusion ---

// The lists of one retriever, as paretocut::FuseSource has them; holds on to its arrays.
struct Source {
    InMatrix<std::uint32_t> ids;
    In<double> gains, scores;
    In<std::int64_t> begin, end;
    In<double> shift, unit, missing;
    double weight;

    paretocut::FuseSource view() const {
        return {ids.data(), ids.shape(1), gains.data(), scores.data(),  begin.data(),
                end.data(), shift.data(), unit.data(),  missing.data(), weight};
    }
};

// The arrays for the outcome come from NumPy, which asks for large pages: half of the time is
// otherwise spent on making small ones.
std::int64_t fuse(const std::vector<const Source*>& sources, bool times_count,
                  Out<std::int64_t> offsets, Out<double> scores, OutMatrix<std::uint32_t> ids,
                  OutMatrix<double> part_scores, OutMatrix<std::int32_t> part_ranks) {
    const std::int64_t queries = size(offsets) - 1;
    std::int64_t needed = 0;
    std::vector<paretocut::FuseSource> views;
    for (const Source* source : sources) {
        require(size(source->begin) == queries, "offsets must have one entry per query and one");
        require(source->ids.shape(1) <= ids.shape(1), "ids must be as wide as those of sources");
        for (std::int64_t q = 0; q < queries; ++q) {
            needed += source->end.data()[q] - source->begin.data()[q];
        }
        views.push_back(source->view());
    }
    require(size(scores) == needed && size(ids) == needed, "there must be room for all results");
    for (const auto& [rows, columns] : {std::pair{part_scores.shape(0), part_scores.shape(1)},
                                        std::pair{part_ranks.shape(0), part_ranks.shape(1)}}) {
        require(rows == sources.size() && static_cast<std::int64_t>(columns) == needed,
                "there must be one part for each source, with room for all results");
    }
    const paretocut::Fused out{ids.shape(1),     needed,     offsets.data(),
                               scores.data(),    ids.data(), part_scores.data(),
                               part_ranks.data()};
    const bool done =
        without_interpreter([&] { return paretocut::fuse(views, queries, times_count, out); });
    if (!done) throw std::bad_alloc();
    return offsets.data()[queries];
}

void moments(In<double> values, In<std::int64_t> begin, In<std::int64_t> end, Out<double> mean,
             Out<double> sd) {
    const std::int64_t lists = size(begin);
    require(size(end) == lists && size(mean) == lists && size(sd) == lists,
            "there must be one end, mean and sd per list");
    for (std::int64_t i = 0; i < lists; ++i) {
        const std::int64_t first = begin.data()[i], last = end.data()[i];
        require(first >= 0 && first <= last && last <= size(values),
                "lists must lie inside the values");
    }
    without_interpreter([&] {
        paretocut::moments(values.data(), begin.data(), end.data(), lists, mean.data(), sd.data());
        return true;
    });
}

void register_fusion(nb::module_& m) {
    nb::class_<Source>(m, "FuseSource", "The lists of one retriever that takes part in a fusion.")
        .def(
            "__init__",
            [](Source* self, InMatrix<std::uint32_t> ids, In<double> gains, In<double> scores,
               In<std::int64_t> begin, In<std::int64_t> end, In<double> shift, In<double> unit,
               In<double> missing, double weight) {
                require(size(gains) == size(ids) && size(scores) == size(ids),
                        "there must be one gain and one score per id");
                const std::int64_t queries = size(begin);
                require(size(end) == queries && size(shift) == queries && size(unit) == queries &&
                            size(missing) == queries,
                        "there must be one end, shift, unit and missing per query");
                for (std::int64_t q = 0; q < queries; ++q) {
                    const std::int64_t first = begin.data()[q], last = end.data()[q];
                    require(first >= 0 && first <= last && last <= size(ids),
                            "lists must lie inside the ids");
                }
                new (self) Source{ids, gains, scores, begin, end, shift, unit, missing, weight};
            },
            nb::arg("ids"), nb::arg("gains"), nb::arg("scores"), nb::arg("begin"), nb::arg("end"),
            nb::arg("shift"), nb::arg("unit"), nb::arg("missing"), nb::arg("weight"));
    m.def("fuse", &fuse, nb::arg("sources"), nb::arg("times_count"), nb::arg("offsets").noconvert(),
          nb::arg("scores").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("part_scores").noconvert(), nb::arg("part_ranks").noconvert(),
          "Fuse the lists of each query; how many results there are.");
    m.def("moments", &moments, nb::arg("values"), nb::arg("begin"), nb::arg("end"),
          nb::arg("mean").noconvert(), nb::arg("sd").noconvert(),
          "Mean and standard deviation of each list.");
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.doc() = "The compiled part of paretocut.";
    // A daemon thread at work when the interpreter ends keeps what it uses; that is no leak.
    nb::set_leak_warnings(false);
    register_surprise(m);
    register_cuts(m);
    register_lines(m);
    register_trec(m);
    register_fusion(m);
}
