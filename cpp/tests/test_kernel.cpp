// Tests of the kernel in C++ alone, on every instruction set this machine has.
//
// Buffers are allocated to the exact size the interface asks for, so that the address sanitizer
// sees one double too many. Numbers are compared with the standard library's functions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "../kernel.hpp"
#include "check.hpp"

namespace {

using paretocut::Fit;
using paretocut::Options;

struct Result {
    std::int64_t bad = -1;
    Fit fit;
    std::vector<double> surprise;
};

Result fit(const std::vector<double>& scores, const Options& options = {}) {
    const auto n = static_cast<std::int64_t>(scores.size());
    std::vector<double> scratch(static_cast<std::size_t>(paretocut::padded(n)));
    Result result;
    result.surprise.assign(scores.size(), -1.0);
    result.bad = paretocut::fit_list(scores.data(), n, options, scratch.data(), &result.fit,
                                     result.surprise.data());
    return result;
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same(const Fit& a, const Fit& b) {
    return same_bits(a.shape, b.shape) && same_bits(a.scale, b.scale) &&
           same_bits(a.threshold, b.threshold) && same_bits(a.cvm, b.cvm) && a.lower == b.lower &&
           a.upper == b.upper && a.flags == b.flags;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// Calls body once for every instruction set, and puts the best one back.
template <class Body>
void on_every_isa(const Body& body) {
    std::istringstream names(paretocut::available_isas());
    std::string name;
    while (names >> name) {
        CHECK(paretocut::use_isa(name.c_str()));
        CHECK(name == paretocut::current_isa());
        body();
    }
}

enum class Kind { kNormalTop, kExponential, kPareto, kUniform, kTied, kWithHits, kHuge, kTiny };
constexpr Kind kKinds[] = {Kind::kNormalTop, Kind::kExponential, Kind::kPareto, Kind::kUniform,
                           Kind::kTied,      Kind::kWithHits,    Kind::kHuge,   Kind::kTiny};

std::vector<double> draw(Kind kind, std::size_t n, std::mt19937_64& random) {
    std::normal_distribution<double> normal(0.25, 0.06);
    std::exponential_distribution<double> exponential(1.0);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> scores(n);
    for (double& score : scores) {
        switch (kind) {
            case Kind::kNormalTop: {
                score = normal(random);
                for (int i = 0; i < 20; ++i) score = std::max(score, normal(random));
                break;
            }
            case Kind::kExponential:
                score = exponential(random);
                break;
            case Kind::kPareto:
                score = std::exp(2.0 * exponential(random));
                break;
            case Kind::kUniform:
                score = uniform(random);
                break;
            case Kind::kTied:
                score = std::floor(4.0 * exponential(random));
                break;
            case Kind::kWithHits:
                score = normal(random) + (random() % 20 == 0 ? 0.5 : 0.0);
                break;
            case Kind::kHuge:
                score = uniform(random) * std::numeric_limits<double>::max();
                break;
            case Kind::kTiny:
                score = std::floor(100.0 * exponential(random)) * 0x1p-1074;
                break;
        }
    }
    return scores;
}

// Every promise that holds for any list of finite scores.
void check_promises(const std::vector<double>& scores, const Options& options,
                    const Result& result) {
    const auto n = static_cast<std::int64_t>(scores.size());
    const Fit& f = result.fit;
    CHECK(result.bad == -1);
    CHECK(f.lower >= 0 && f.lower <= f.upper && f.upper <= n);
    CHECK(std::isfinite(f.shape) && f.shape >= 0.0);
    CHECK(std::isfinite(f.scale) && f.scale >= 0.0);
    CHECK(std::isfinite(f.threshold) && std::isfinite(f.cvm) && f.cvm >= 0.0);
    const bool fitted = (f.flags & (paretocut::kTooFew | paretocut::kConstant)) == 0;
    CHECK(fitted == (f.scale > 0.0));
    if (fitted) CHECK(f.upper - f.lower >= options.min_window);

    std::vector<std::size_t> order(scores.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return options.sign * scores[a] < options.sign * scores[b];
    });
    double previous = 0.0;
    for (const std::size_t i : order) {
        const double s = result.surprise[i];
        CHECK(std::isfinite(s) && s >= previous);
        if (!fitted || options.sign * scores[i] <= options.sign * f.threshold) CHECK(s == 0.0);
        previous = s;
    }
}

std::vector<double> ascending(std::vector<double> scores) {
    std::sort(scores.begin(), scores.end());
    return scores;
}

// Profile log-likelihood of theta = shape / scale, per excess, from its definition.
double log_likelihood(const std::vector<double>& excesses, double shape, double scale) {
    double total = 0.0;
    for (const double e : excesses) {
        total -= std::log(scale);
        total -= shape > 0.0 ? (1.0 + 1.0 / shape) * std::log1p(shape * e / scale) : e / scale;
    }
    return total / static_cast<double>(excesses.size());
}

}  // namespace

TEST(every_kind_of_list_keeps_the_promises) {
    on_every_isa([] {
        std::mt19937_64 random(1);
        for (const Kind kind : kKinds) {
            for (std::size_t n = 0; n <= 300; n = n < 40 ? n + 1 : n + 13) {
                const std::vector<double> scores = draw(kind, n, random);
                for (const double sign : {1.0, -1.0}) {
                    for (const bool refit_all : {false, true}) {
                        for (const std::int64_t min_window : {2, 5, 50}) {
                            Options options;
                            options.sign = sign;
                            options.refit_all = refit_all;
                            options.min_window = min_window;
                            check_promises(scores, options, fit(scores, options));
                        }
                    }
                }
            }
        }
    });
}

// Lists far from 0 whose length is no multiple of the lanes: what lies behind the last score must
// overflow nothing, which the undefined-behaviour sanitizer sees.
TEST(lists_far_above_zero_and_of_any_length_keep_the_promises) {
    on_every_isa([] {
        std::mt19937_64 random(13);
        for (const double shift : {1.0, 50.0, 1e6}) {
            for (std::size_t n = 5; n <= 60; ++n) {
                std::vector<double> scores = draw(Kind::kExponential, n, random);
                for (double& score : scores) score = shift + 0.01 * score;
                check_promises(scores, {}, fit(scores));
            }
        }
    });
}

TEST(constant_lists_and_short_lists_are_flagged_and_get_no_surprise) {
    on_every_isa([] {
        for (const double value : {0.0, -0.0, 1.0, -3.5, 1e308, -1e308, 5e-324}) {
            for (std::size_t n = 0; n < 20; ++n) {
                const std::vector<double> scores(n, value);
                const Result result = fit(scores);
                check_promises(scores, {}, result);
                CHECK(((result.fit.flags & paretocut::kTooFew) != 0) == (n < 5));
                if (n >= 5) CHECK((result.fit.flags & paretocut::kConstant) != 0);
                if (n > 0) CHECK(result.fit.threshold == value);
            }
        }
    });
}

TEST(order_of_the_scores_does_not_matter) {
    on_every_isa([] {
        std::mt19937_64 random(2);
        for (const Kind kind : kKinds) {
            const std::vector<double> up = ascending(draw(kind, 203, random));
            const std::vector<double> down(up.rbegin(), up.rend());
            std::vector<double> mixed = up;
            std::shuffle(mixed.begin(), mixed.end(), random);
            const Result expected = fit(up);
            CHECK(same(fit(down).fit, expected.fit));
            CHECK(same(fit(mixed).fit, expected.fit));
            std::vector<double> reversed = fit(down).surprise;
            std::reverse(reversed.begin(), reversed.end());
            CHECK(same(reversed, expected.surprise));
            CHECK(same(ascending(fit(mixed).surprise), expected.surprise));
        }
    });
}

TEST(distances_are_scores_with_the_sign_turned) {
    on_every_isa([] {
        std::mt19937_64 random(3);
        Options distances;
        distances.sign = -1.0;
        for (const Kind kind : kKinds) {
            const std::vector<double> scores = draw(kind, 150, random);
            std::vector<double> turned = scores;
            for (double& score : turned) score = -score;
            const Result a = fit(scores), b = fit(turned, distances);
            CHECK(same(a.surprise, b.surprise));
            CHECK(a.fit.threshold == -b.fit.threshold);
            CHECK(same_bits(a.fit.scale, b.fit.scale) && same_bits(a.fit.shape, b.fit.shape));
        }
    });
}

TEST(scaling_by_a_power_of_two_changes_the_scale_alone) {
    on_every_isa([] {
        std::mt19937_64 random(4);
        for (const Kind kind : {Kind::kNormalTop, Kind::kPareto, Kind::kTied, Kind::kWithHits}) {
            const std::vector<double> scores = draw(kind, 120, random);
            std::vector<double> scaled = scores;
            for (double& score : scaled) score *= 0x1p-40;
            const Result a = fit(scores), b = fit(scaled);
            CHECK(same(a.surprise, b.surprise));
            CHECK(same_bits(a.fit.shape, b.fit.shape));
            CHECK(a.fit.scale * 0x1p-40 == b.fit.scale);
            CHECK(a.fit.lower == b.fit.lower && a.fit.upper == b.fit.upper);
        }
    });
}

TEST(instruction_sets_agree_to_the_last_bit) {
    std::mt19937_64 random(5);
    for (const Kind kind : kKinds) {
        for (const std::size_t n : {7, 64, 200, 1001}) {
            const std::vector<double> scores = draw(kind, n, random);
            CHECK(paretocut::use_isa("baseline"));
            const Result expected = fit(scores);
            on_every_isa([&] {
                const Result result = fit(scores);
                CHECK(same(result.fit, expected.fit));
                CHECK(same(result.surprise, expected.surprise));
            });
        }
    }
}

// Prints a digest of results, to be compared between compilers and machines. The scores are made
// with exact arithmetic alone, because the functions of standard libraries differ.
TEST(results_have_a_digest) {
    std::mt19937_64 random(15);
    std::uint64_t digest = 0xCBF29CE484222325u;
    const auto add = [&](double value) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        digest = (digest ^ bits) * 0x100000001B3u;
    };
    for (std::size_t i = 0; i < 400; ++i) {
        std::vector<double> scores(5 + random() % 300);
        for (double& score : scores) {
            const double u = static_cast<double>(random() >> 11) * 0x1p-53;
            const double heavy = 1.0 / (1.0 - u);
            switch (i % 4) {
                case 0:
                    score = u + u * u * u;
                    break;
                case 1:
                    score = heavy;
                    break;
                case 2:
                    score = heavy * heavy * heavy * heavy * heavy * heavy;
                    break;
                default:
                    score = static_cast<double>(static_cast<std::int64_t>(heavy));
            }
        }
        const Result result = fit(scores);
        for (const double value : {result.fit.shape, result.fit.scale, result.fit.cvm}) add(value);
        for (const double value : result.surprise) add(value);
    }
    std::printf("digest %016llx\n", static_cast<unsigned long long>(digest));
}

TEST(surprise_and_fit_agree_with_their_definitions) {
    on_every_isa([] {
        std::mt19937_64 random(6);
        int interior = 0;
        for (const Kind kind :
             {Kind::kNormalTop, Kind::kExponential, Kind::kPareto, Kind::kWithHits}) {
            for (int repeat = 0; repeat < 25; ++repeat) {
                const std::vector<double> up = ascending(draw(kind, 200, random));
                const Result result = fit(up);
                const Fit& f = result.fit;
                CHECK(f.threshold == up[static_cast<std::size_t>(f.lower)]);
                for (std::size_t i = 0; i < up.size(); ++i) {
                    const double e = std::max(up[i] - f.threshold, 0.0);
                    const double exact =
                        f.shape > 0.0 ? std::log1p(f.shape * e / f.scale) / f.shape : e / f.scale;
                    CHECK(std::fabs(result.surprise[i] - exact) <= 1e-11 * (1.0 + exact));
                }
                std::vector<double> excesses;
                for (std::int64_t i = f.lower; i < f.upper; ++i) {
                    excesses.push_back(up[static_cast<std::size_t>(i)] - f.threshold);
                }
                const auto m = static_cast<double>(excesses.size());
                double cvm = 1.0 / (12.0 * m);
                for (std::size_t r = 0; r < excesses.size(); ++r) {
                    const double survival =
                        std::exp(-result.surprise[static_cast<std::size_t>(f.lower) + r]);
                    const double expected = (2.0 * static_cast<double>(r) + 1.0) / (2.0 * m);
                    cvm += (1.0 - survival - expected) * (1.0 - survival - expected);
                }
                CHECK(std::fabs(cvm - f.cvm) <= 1e-10);
                // A maximum: no neighbour within the constraint is more likely.
                const double best = log_likelihood(excesses, f.shape, f.scale);
                for (const double step : {-1e-3, 1e-3}) {
                    CHECK(log_likelihood(excesses, f.shape, f.scale * (1.0 + step)) <= best);
                    const double shape = f.shape > 0.0 ? f.shape * (1.0 + step) : std::fabs(step);
                    CHECK(log_likelihood(excesses, shape, f.scale) <= best);
                }
                interior += f.shape > 0.0;
            }
        }
        CHECK(interior > 25);  // both kinds of optimum were met
    });
}

TEST(the_first_score_that_is_not_finite_is_named_and_nothing_is_written) {
    const double bad_values[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
    on_every_isa([&] {
        std::mt19937_64 random(7);
        for (const double bad : bad_values) {
            for (const std::size_t at : {0, 1, 8, 63, 99}) {
                std::vector<double> scores = draw(Kind::kNormalTop, 100, random);
                scores[at] = scores[99] = bad;
                const Result result = fit(scores);
                CHECK(result.bad == static_cast<std::int64_t>(at));
                CHECK(same(result.surprise, std::vector<double>(100, -1.0)));
            }
        }
    });
}

TEST(batches_equal_single_lists_on_any_number_of_threads) {
    on_every_isa([] {
        std::mt19937_64 random(8);
        std::vector<double> values;
        std::vector<std::int64_t> offsets{0};
        std::vector<Result> expected;
        for (int i = 0; i < 200; ++i) {
            const std::vector<double> scores = draw(
                kKinds[static_cast<std::size_t>(i) % std::size(kKinds)], random() % 150, random);
            expected.push_back(fit(scores));
            values.insert(values.end(), scores.begin(), scores.end());
            offsets.push_back(static_cast<std::int64_t>(values.size()));
        }
        for (const int threads : {0, 1, 2, 3, 16}) {
            std::vector<Fit> fits(expected.size());
            std::vector<double> surprise(values.size(), -1.0);
            CHECK(paretocut::fit_batch(values.data(), offsets.data(),
                                       static_cast<std::int64_t>(expected.size()), {}, threads,
                                       fits.data(), surprise.data()) == -1);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                CHECK(same(fits[i], expected[i].fit));
                CHECK(same(std::vector<double>(surprise.begin() + offsets[i],
                                               surprise.begin() + offsets[i + 1]),
                           expected[i].surprise));
            }
        }
        values[100] = values[3000] = std::numeric_limits<double>::quiet_NaN();
        std::vector<Fit> fits(expected.size());
        std::vector<double> surprise(values.size());
        CHECK(paretocut::fit_batch(values.data(), offsets.data(),
                                   static_cast<std::int64_t>(expected.size()), {}, 2, fits.data(),
                                   surprise.data()) == 100);
    });
}

TEST(a_batch_of_no_lists_or_of_empty_lists_is_fine) {
    const std::int64_t none[] = {0};
    CHECK(paretocut::fit_batch(nullptr, none, 0, {}, 4, nullptr, nullptr) == -1);
    const std::int64_t empty[] = {0, 0, 0, 0};
    std::vector<Fit> fits(3);
    CHECK(paretocut::fit_batch(nullptr, empty, 3, {}, 4, fits.data(), nullptr) == -1);
    for (const Fit& f : fits) CHECK((f.flags & paretocut::kTooFew) != 0);
}

TEST(selection_by_goodness_of_fit_keeps_the_promises) {
    const std::vector<double> shapes{0.0, 0.5, 1.0}, inverse_m{0.001, 0.01, 0.2};
    on_every_isa([&] {
        std::mt19937_64 random(9);
        // Nothing is acceptable, everything is, and something between.
        for (const double level : {0.0, 1e9, 0.1}) {
            const std::vector<double> critical(9, level);
            const paretocut::GofTable table{shapes.data(), inverse_m.data(), critical.data(), 3, 3};
            Options options;
            options.gof = &table;
            for (const Kind kind : kKinds) {
                for (const std::size_t n : {5, 6, 50, 201}) {
                    const std::vector<double> scores = draw(kind, n, random);
                    check_promises(scores, options, fit(scores, options));
                }
            }
        }
    });
}

TEST(a_long_list_is_fitted_in_bounded_time) {
    on_every_isa([] {
        std::mt19937_64 random(10);
        const std::vector<double> scores = draw(Kind::kExponential, 100'000, random);
        check_promises(scores, {}, fit(scores));
    });
}

TEST(rows_of_the_simulation_equal_single_fits) {
    on_every_isa([] {
        std::mt19937_64 random(11);
        constexpr std::size_t kRows = 70, kSize = 33;
        std::vector<double> excesses;
        for (std::size_t i = 0; i < kRows; ++i) {
            std::vector<double> row = ascending(draw(Kind::kPareto, kSize, random));
            const double first = row[0];
            for (double& e : row) e -= first;
            excesses.insert(excesses.end(), row.begin(), row.end());
        }
        std::vector<double> one[3], three[3];
        for (auto& column : one) column.assign(kRows, -1.0);
        for (auto& column : three) column.assign(kRows, -2.0);
        paretocut::cvm_rows(excesses.data(), kRows, kSize, 1, one[0].data(), one[1].data(),
                            one[2].data());
        paretocut::cvm_rows(excesses.data(), kRows, kSize, 3, three[0].data(), three[1].data(),
                            three[2].data());
        for (int i = 0; i < 3; ++i) CHECK(same(one[i], three[i]));
        for (const double statistic : one[0]) CHECK(statistic > 0.0 && statistic < 2.0);
    });
}

TEST(log1p_and_exp_are_within_two_ulp) {
    on_every_isa([] {
        std::mt19937_64 random(12);
        std::uniform_real_distribution<double> exponent(-60.0, 60.0), argument(0.0, 700.0);
        std::vector<double> x(100'003), logs(x.size()), y(x.size()), powers(x.size());
        for (double& value : x) value = std::exp2(exponent(random));
        for (double& value : y) value = argument(random);
        x[0] = y[0] = 0.0;
        paretocut::log1p_array(x.data(), static_cast<std::int64_t>(x.size()), logs.data());
        paretocut::exp_neg_array(y.data(), static_cast<std::int64_t>(y.size()), powers.data());
        constexpr double kBound = 2.0 * std::numeric_limits<double>::epsilon();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double log_exact = std::log1p(x[i]), exp_exact = std::exp(-y[i]);
            CHECK(std::fabs(logs[i] - log_exact) <= kBound * log_exact);
            CHECK(std::fabs(powers[i] - exp_exact) <= kBound * exp_exact);
        }
    });
}

TEST(an_unknown_instruction_set_is_refused) {
    const std::string before = paretocut::current_isa();
    CHECK(!paretocut::use_isa("avx1024"));
    CHECK(!paretocut::use_isa(""));
    CHECK(before == paretocut::current_isa());
}
