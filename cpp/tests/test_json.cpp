// Tests of the reader of scores in C++ alone: texts end where their memory ends, so that the
// sanitizer sees a look beyond.
#include <string_view>
#include <vector>

#include "../json.hpp"
#include "check.hpp"

using paretocut::json::read_scores;
using paretocut::json::Scores;

namespace {

bool reads(std::string_view text, Scores& scores) {
    const std::vector<char> exact(text.begin(), text.end());
    return read_scores({exact.data(), exact.size()}, scores);
}

}  // namespace

TEST(scores_of_one_list_and_of_many_are_read) {
    Scores one, many;
    CHECK(reads(R"( { "query": "a\"b]", "x": [{"lists": 1}], "scores": [1, -2.5e1 , 0.125] } )",
                one));
    CHECK((one.values == std::vector<double>{1, -25, 0.125}));
    CHECK((one.offsets == std::vector<std::int64_t>{0, 3}));
    CHECK(reads(R"({"lists":[[],[3],[2,1]]})", many));
    CHECK((many.values == std::vector<double>{3, 2, 1}));
    CHECK((many.offsets == std::vector<std::int64_t>{0, 0, 1, 3}));
    CHECK(many.begin == 9 && many.end == 23);
}

TEST(texts_that_end_too_early_are_not_read) {
    for (const std::string_view whole :
         {R"({"a": "\"", "lists": [[1.5e3, -0.25], [ ]])", R"({"scores": [12, 0.5e-7])"}) {
        for (std::size_t size = 0; size < whole.size(); ++size) {
            Scores scores;
            CHECK(!reads(whole.substr(0, size), scores));
        }
        Scores scores;
        CHECK(reads(whole, scores));  // what follows is left to others
    }
}
