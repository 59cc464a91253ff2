// Reader of the scores in a JSON object: `{"scores": [3, 1]}` or `{"lists": [[3, 1], [2]]}`, with
// any other members. Plain C++, no Python headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace paretocut::json {

struct Scores {
    std::vector<double> values;
    std::vector<std::int64_t> offsets{0};
    std::size_t begin = 0, end = 0;  // the brackets in the text, and what is between them
};

// Reads the scores. False for a text that is not plain enough: it has no scores, or twice, or
// values that are not numbers, or it may not be JSON. What stands outside the brackets is not
// checked: the whole text is JSON if it is JSON with [] in their place.
bool read_scores(std::string_view text, Scores& scores);

}  // namespace paretocut::json
