// Tests of the TREC reader in C++ alone: what it makes of good files, and that no bytes upset it.
#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../numbers.hpp"
#include "../trec.hpp"
#include "check.hpp"

namespace {

using paretocut::trec::Kind;
using paretocut::trec::Reader;
using paretocut::trec::Status;

struct Columns {
    Status status = Status::ok;
    std::size_t problem_line = 0;
    std::string problem;
    std::vector<std::string> query_ids;
    std::vector<std::int64_t> offsets;
    std::vector<double> values;
    std::vector<std::string> doc_ids;

    bool operator==(const Columns&) const = default;
};

// Reads the text in pieces of the sizes given (0 means all that is left). Every piece is a copy
// of its own, so that the sanitizer sees a look beyond its end.
template <class NextSize>
Columns read(const std::string& text, Kind kind, NextSize next_size, bool negate = false) {
    Reader reader(kind, negate);
    Columns columns;
    for (std::size_t at = 0; at < text.size() && columns.status == Status::ok;) {
        const std::size_t wanted = next_size();
        const std::size_t size = std::min(wanted == 0 ? text.size() : wanted, text.size() - at);
        const std::vector<char> piece(text.data() + at, text.data() + at + size);
        columns.status = reader.feed(piece.data(), piece.size());
        at += size;
    }
    if (columns.status == Status::ok) columns.status = reader.finish();
    if (columns.status != Status::ok) {
        columns.problem_line = reader.problem_line();
        columns.problem = reader.problem();
        return columns;
    }
    columns.query_ids = reader.query_ids();
    columns.offsets.resize(reader.queries() + 1);
    columns.values.resize(reader.rows());
    const std::size_t width = reader.doc_width(), rows = reader.rows();
    std::vector<char> ids(rows * width);
    reader.emit(columns.offsets.data(), columns.values.data(), ids.data());
    for (std::size_t row = 0; row < rows; ++row) {
        const char* id = ids.data() + row * width;
        columns.doc_ids.emplace_back(id, strnlen(id, width));
    }
    return columns;
}

Columns read(const std::string& text, Kind kind = Kind::run, bool negate = false) {
    return read(text, kind, [] { return std::size_t{0}; }, negate);
}

}  // namespace

TEST(a_run_is_grouped_and_put_in_the_order_of_trec_eval) {
    const Columns columns = read(
        "q2 Q0 a 1 0.5 tag\n"
        "q1 Q0 b 1 1.0 tag\r\n"
        "\n"
        "q2 Q0 long-id 2 +7e-1 tag\n"
        "q2 Q0 c 3 0.5 tag");
    CHECK(columns.status == Status::ok);
    CHECK((columns.query_ids == std::vector<std::string>{"q2", "q1"}));
    CHECK((columns.offsets == std::vector<std::int64_t>{0, 3, 4}));
    CHECK((columns.values == std::vector<double>{0.7, 0.5, 0.5, 1.0}));
    CHECK((columns.doc_ids == std::vector<std::string>{"long-id", "c", "a", "b"}));
}

TEST(distances_are_read_with_the_sign_turned) {
    const Columns columns = read("q Q0 a 1 0.5 t\nq Q0 b 2 0.25 t\n", Kind::run, true);
    CHECK((columns.values == std::vector<double>{-0.25, -0.5}));
    CHECK((columns.doc_ids == std::vector<std::string>{"b", "a"}));
}

TEST(a_broken_line_is_named) {
    const std::map<std::string, std::size_t> line_of = {
        {"q Q0 a 1 0.5 t\nq Q0 b 2 0.4\n", 2},
        {"\n\nq Q0 a 1 nan t\n", 3},
        {"q Q0 a 1 1e999 t\n", 1},
        {"q Q0 a 1 0.5 t\nq Q0 b 1 x t\n", 2},
        {"q Q0 a 1 0.5 t\n\nq Q0 b 2 0.4 t\nq Q0 a 3 0.3 t\n", 4},
        {std::string("q Q0 a\0b 1 0.5 t\n", 17), 1},
        {std::string(100'000, 'x'), 1},
        {"q Q0 " + std::string(2000, 'd') + " 1 0.5 t\n", 1},
    };
    for (const auto& [text, line] : line_of) {
        const Columns columns = read(text);
        CHECK(columns.status == Status::broken);
        CHECK(columns.problem_line == line);
        CHECK(!columns.problem.empty());
    }
}

TEST(no_bytes_upset_the_reader_and_the_pieces_they_come_in_do_not_matter) {
    const std::vector<std::string> tokens = {"q1",
                                             "q2",
                                             "Q0",
                                             "0",
                                             "1",
                                             "-1",
                                             "0.5",
                                             "1e308",
                                             "1e999",
                                             "nan",
                                             "-inf",
                                             "+3",
                                             "+-3",
                                             " ",
                                             " ",
                                             " ",
                                             "\t",
                                             "\n",
                                             "\n",
                                             "\r",
                                             "\n\n",
                                             "d",
                                             "\xff",
                                             "\xEF\xBB\xBF",
                                             "q Q0 d1 1 0.5 t\n",
                                             "q Q0 d2 2 0.25 t\n",
                                             "p Q0 d1 1 0.5 t\n",
                                             "q 0 d7 2\n",
                                             "p 0 d8 0\n",
                                             std::string(1, '\0')};
    std::mt19937_64 random(1);
    int good = 0;
    for (int repeat = 0; repeat < 20'000; ++repeat) {
        std::string text;
        // The last tokens are whole lines: without a share of those no file would be good.
        const std::size_t first = repeat % 2 == 0 ? 0 : tokens.size() - 6;
        for (std::size_t i = random() % 12; i > 0; --i) {
            text += tokens[first + random() % (tokens.size() - first)];
        }
        for (const Kind kind : {Kind::run, Kind::qrels}) {
            const Columns whole = read(text, kind);
            CHECK(whole.status != Status::no_memory);
            CHECK(whole == read(text, kind, [&] { return std::size_t{1} + random() % 7; }));
            good += whole.status == Status::ok && !whole.values.empty();
        }
    }
    CHECK(good > 100);
}

TEST(results_get_their_grades_and_unjudged_ones_none) {
    const std::uint32_t results[] = {'a', 'a', 0, 'b', 'b', 'b', 'c', 0, 0, 'b', 'b', 'b'};
    const std::uint32_t judged[] = {'c', 'b', 'x'};
    const std::int64_t result_offsets[] = {0, 3, 4}, judged_offsets[] = {0, 3};
    const std::int32_t judged_grades[] = {2, 1, 3};
    const std::int64_t judged_as[] = {0, -1};
    std::vector<std::int32_t> grades(4, -9);
    CHECK(paretocut::trec::judge({results, 3, result_offsets}, judged_as,
                                 {judged, 1, judged_offsets}, judged_grades,
                                 grades.data()) == Status::ok);
    CHECK((grades == std::vector<std::int32_t>{0, 0, 2, 0}));
}

TEST(blank_lines_are_counted_and_not_kept) {
    const std::string blank(100'000, '\n');
    const Columns columns = read(blank + "q Q0 d 1 1 t\n" + blank + "q Q0 e 1 x t\n", Kind::run,
                                 [] { return std::size_t{0}; });
    CHECK(columns.status == Status::broken);
    CHECK(columns.problem_line == 200'002);
    const Columns twice =
        read("\n\nq Q0 d 1 1 t\n\n\n\nq Q0 d 1 1 t\n", Kind::run, [] { return std::size_t{0}; });
    CHECK(twice.problem_line == 7);
    CHECK(twice.problem.find("first on line 3") != std::string::npos);
}

TEST(scores_too_small_for_a_double_are_zero_and_too_large_ones_are_refused) {
    for (const char* text : {"1e-400", "-1e-400", "+0.0001e-999", "4e-324"}) {
        const Columns columns = read(std::string("q Q0 d 1 ") + text + " t\n", Kind::run,
                                     [] { return std::size_t{0}; });
        CHECK(columns.status == Status::ok);
        CHECK(std::fabs(columns.values[0]) < 1e-300);
    }
    for (const char* text : {"1e400", "-1e400", "inf", "nan"}) {
        const Columns columns = read(std::string("q Q0 d 1 ") + text + " t\n", Kind::run,
                                     [] { return std::size_t{0}; });
        CHECK(columns.status == Status::broken);
    }
}

// Likewise the fallback for libraries that do not write them.
TEST(numbers_are_written_as_by_to_chars) {
#ifdef __cpp_lib_to_chars
    std::mt19937_64 random(15);
    for (int i = 0; i < 100'000; ++i) {
        const double value = std::ldexp(static_cast<double>(random() >> (random() % 60)), -40);
        for (const int digits : {0, 1, 6, 17}) {
            char ours[32], theirs[32] = {};
            paretocut::to_chars_everywhere(ours, value, digits);
            constexpr auto form = std::chars_format::scientific;
            if (digits == 0) {
                std::to_chars(theirs, theirs + 31, value, form);
                CHECK(paretocut::to_double(ours) == value);
                CHECK(paretocut::to_double(theirs) == value);
            } else {
                std::to_chars(theirs, theirs + 31, value, form, digits - 1);
                CHECK(std::string(ours) == theirs);
            }
        }
    }
#endif
}

// Where the standard library reads doubles, the fallback for those that do not must agree with it.
TEST(numbers_are_read_as_by_from_chars) {
    std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it exists, its decimal comma must not matter
    std::mt19937_64 random(14);
    const std::string letters = "0123456789012345678901234567890123456789..eE+-- xinfatyINF";
    for (int i = 0; i < 200'000; ++i) {
        std::string text;
        const std::size_t length = 1 + random() % 12;
        for (std::size_t j = 0; j < length; ++j) text += letters[random() % letters.size()];
        double ours = -7.0;
        const char* end = text.data() + text.size();
        const auto got = paretocut::from_chars_everywhere(text.data(), end, ours);
#ifdef __cpp_lib_to_chars
        double theirs = -7.0;
        const auto expected = std::from_chars(text.data(), end, theirs);
        CHECK(got.ptr == expected.ptr);
        if (expected.ec == std::errc::result_out_of_range) continue;  // 0 or infinite with us
        CHECK(got.ec == expected.ec);
        CHECK(ours == theirs || (std::isnan(ours) && std::isnan(theirs)));
#else
        CHECK(got.ptr >= text.data() && got.ptr <= end);
#endif
    }
    std::setlocale(LC_ALL, "C");
}
