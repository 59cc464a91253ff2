// Numbers of text files, read and written whatever the locale of the process. Plain C++, no Python
// headers.
#pragma once

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <version>
#if defined(__APPLE__)
#include <xlocale.h>
#elif !defined(_WIN32)
#include <locale.h>
#endif

namespace paretocut {

// What strtod makes of a text that is a number, in the C locale: no digits are lost, what is too
// large is infinite, what is too small is 0. Slower than from_chars.
inline double to_double(std::string_view text) {
    const std::string ended(text);
#ifdef _WIN32
    static const _locale_t plain = _create_locale(LC_ALL, "C");
    return _strtod_l(ended.c_str(), nullptr, plain);
#else
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    return strtod_l(ended.c_str(), nullptr, plain);
#endif
}

// How many bytes at the start of a text are a decimal number, or the words inf, infinity or nan:
// what from_chars would read.
inline std::size_t number_length(std::string_view text) {
    const auto digit = [&](std::size_t i) {
        return i < text.size() && text[i] >= '0' && text[i] <= '9';
    };
    const auto letter = [&](std::size_t i, char lower) {
        return i < text.size() && (text[i] | 0x20) == lower;
    };
    std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
    for (const std::string_view word : {"infinity", "inf", "nan"}) {
        std::size_t same = 0;
        while (same < word.size() && letter(at + same, word[same])) ++same;
        if (same == word.size()) return at + same;
    }
    const std::size_t start = at;
    while (digit(at)) ++at;
    std::size_t digits = at - start;
    if (at < text.size() && text[at] == '.') {
        const std::size_t point = at++;
        while (digit(at)) ++at;
        digits += at - point - 1;
    }
    if (digits == 0) return 0;
    if (letter(at, 'e')) {
        std::size_t power = at + 1;
        if (power < text.size() && (text[power] == '+' || text[power] == '-')) ++power;
        if (digit(power)) {
            while (digit(power)) ++power;
            at = power;
        }
    }
    return at;
}

// As std::from_chars, which some standard libraries lack for doubles.
inline std::from_chars_result from_chars_everywhere(const char* first, const char* last,
                                                    double& value) {
    const std::string_view text(first, static_cast<std::size_t>(last - first));
    const std::size_t length = number_length(text);
    if (length == 0) return {first, std::errc::invalid_argument};
    value = to_double(text.substr(0, length));
    return {first + length, std::errc{}};
}

// Reads a double from the start of a text. One that is too small for a double is 0, one that is
// too large is infinite.
inline std::from_chars_result read_double(const char* first, const char* last, double& value) {
#ifdef __cpp_lib_to_chars
    const std::from_chars_result result = std::from_chars(first, last, value);
    if (result.ec != std::errc::result_out_of_range) return result;
#endif
    return from_chars_everywhere(first, last, value);
}

// Writes a double as one digit, a point, more digits, e and the power of ten: with so many digits,
// at most 17, or with as many as it needs if that is 0. For standard libraries without to_chars.
inline void to_chars_everywhere(char (&text)[32], double value, int digits) {
    for (int more = digits == 0 ? 14 : digits - 1;; ++more) {
        std::snprintf(text, sizeof text, "%.*e", more, value);
        for (char& byte : text) byte = byte == ',' ? '.' : byte;  // of the locale
        if (digits != 0 || more == 16 || to_double(text) == value) return;
    }
}

// Appends a double as Python writes it: repr where digits is 0, else the format ".{digits}g".
inline void write_double(std::string& out, double value, int digits) {
    if (!std::isfinite(value)) {
        out += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
        return;
    }
    char text[32];
#ifdef __cpp_lib_to_chars
    constexpr auto form = std::chars_format::scientific;
    *(digits == 0 ? std::to_chars(text, text + 31, value, form)
                  : std::to_chars(text, text + 31, value, form, digits - 1))
         .ptr = 0;
#else
    to_chars_everywhere(text, value, digits);
#endif
    const char* end = std::strchr(text, 'e');
    const int power = std::atoi(end + 1);
    char known[32];
    int count = 0;
    for (const char* at = text; at < end; ++at) {
        if (*at >= '0' && *at <= '9') known[count++] = *at;
    }
    while (count > 1 && known[count - 1] == '0') --count;
    if (std::signbit(value)) out += '-';
    const int whole = power + 1;  // digits before the point
    const auto zeros = [&](int number) { out.append(static_cast<std::size_t>(number), '0'); };
    if (power < -4 || whole > (digits == 0 ? 16 : digits)) {
        out += known[0];
        if (count > 1) out.append(".").append(known + 1, known + count);
        out += end;
    } else if (whole <= 0) {
        out += "0.";
        zeros(-whole);
        out.append(known, known + count);
    } else if (whole < count) {
        out.append(known, known + whole).append(".").append(known + whole, known + count);
    } else {
        out.append(known, known + count);
        zeros(whole - count);
        if (digits == 0) out += ".0";
    }
}

}  // namespace paretocut
