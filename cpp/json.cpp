#include "json.hpp"

#include "numbers.hpp"

namespace paretocut::json {
namespace {

class Cursor {
  public:
    explicit Cursor(std::string_view text)
        : start_(text.data()), at_(start_), end_(start_ + text.size()) {}

    std::size_t place() const { return static_cast<std::size_t>(at_ - start_); }

    void blanks() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }

    // Steps over one character, and blanks around it.
    bool take(char wanted) {
        blanks();
        if (at_ == end_ || *at_ != wanted) return false;
        ++at_;
        blanks();
        return true;
    }

    // What follows the digits before the point, from_chars reads as JSON does.
    bool number(double& value) {
        const char* first = at_;
        if (at_ != end_ && *at_ == '-') ++at_;
        const char* whole = at_;
        if (!digits() || (*whole == '0' && at_ - whole > 1)) return false;
        if (at_ != end_ && *at_ == '.') {
            ++at_;
            if (at_ == end_ || *at_ < '0' || *at_ > '9') return false;
        }
        at_ = read_double(first, end_, value).ptr;
        return true;
    }

    bool numbers(std::vector<double>& values) {
        if (!take('[')) return false;
        if (take(']')) return true;
        do {
            double value;
            if (!number(value)) return false;
            values.push_back(value);
        } while (take(','));
        return take(']');
    }

    // A text without escapes.
    bool plain(std::string_view& found) {
        if (!take('"')) return false;
        const char* first = at_;
        while (at_ != end_ && *at_ != '"' && *at_ != '\\') ++at_;
        found = {first, static_cast<std::size_t>(at_ - first)};
        return take('"');
    }

    // Steps over a value, to the comma or bracket behind it.
    bool skip() {
        int depth = 0;
        for (; at_ != end_; ++at_) {
            switch (*at_) {
                case '"':
                    for (++at_; at_ != end_ && *at_ != '"'; ++at_) {
                        if (*at_ == '\\' && ++at_ == end_) return false;
                    }
                    if (at_ == end_) return false;
                    break;
                case '[':
                case '{':
                    ++depth;
                    break;
                case ']':
                case '}':
                    if (depth-- == 0) return true;
                    break;
                case ',':
                    if (depth == 0) return true;
                    break;
                default:
                    break;
            }
        }
        return false;
    }

  private:
    bool digits() {
        const char* first = at_;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
        return at_ != first;
    }

    const char *start_, *at_, *end_;
};

bool one_or_many(Cursor& cursor, bool many, Scores& scores) {
    const auto list = [&] {
        const bool good = cursor.numbers(scores.values);
        scores.offsets.push_back(static_cast<std::int64_t>(scores.values.size()));
        return good;
    };
    scores.values.reserve(256);
    if (!many) return list();
    if (!cursor.take('[')) return false;
    if (cursor.take(']')) return true;
    do {
        if (!list()) return false;
    } while (cursor.take(','));
    return cursor.take(']');
}

}  // namespace

bool read_scores(std::string_view text, Scores& scores) {
    Cursor cursor(text);
    std::string_view name;
    if (!cursor.take('{')) return false;
    do {
        if (!cursor.plain(name) || !cursor.take(':')) return false;
        if (name != "scores" && name != "lists") {
            if (!cursor.skip()) return false;
            continue;
        }
        scores.begin = cursor.place();
        if (!one_or_many(cursor, name == "lists", scores)) return false;
        scores.end = cursor.place();
        // The last of two members of one name counts; a name may be spelt with escapes.
        const std::string_view rest = text.substr(scores.end);
        const auto has = [&](std::string_view part) { return rest.find(part) != rest.npos; };
        return !has("\"scores\"") && !has("\"lists\"") && !has("\\u00");
    } while (cursor.take(','));
    return false;
}

}  // namespace paretocut::json
