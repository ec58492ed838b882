#include <array>
#include <string_view>

#include "broker/redaction/known_secrets.h"

namespace factionos::redaction {
namespace {

constexpr std::string_view kLowerHex = "0123456789abcdef";
constexpr std::string_view kUpperHex = "0123456789ABCDEF";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

unsigned toByte(char c) {
  return static_cast<unsigned char>(c);
}
bool isAlnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool isOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

SecretString room(std::size_t bytes) {
  SecretString out;
  out.reserve(bytes < 64 ? 64 : bytes);
  return out;
}

// The characters of the base64 text that depend on the value alone, when `skew` bytes of other data precede
// it.
SecretString base64Core(std::string_view value, std::size_t skew, std::string_view alphabet) {
  SecretString out = room(value.size() * 2);
  const std::size_t firstBit = skew * 8;
  const std::size_t endBit = firstBit + value.size() * 8;
  for (std::size_t bit = (firstBit + 5) / 6 * 6; bit + 6 <= endBit; bit += 6) {
    unsigned sextet = 0;
    for (std::size_t i = bit; i < bit + 6; ++i) {
      const std::size_t at = i - firstBit;
      sextet = sextet << 1U | ((toByte(value[at / 8]) >> (7 - at % 8)) & 1U);
    }
    out.push_back(alphabet[sextet]);
  }
  return out;
}

SecretString hexForm(std::string_view value, std::string_view digits) {
  SecretString out = room(value.size() * 2);
  for (const char c : value) {
    out.push_back(digits[toByte(c) >> 4U]);
    out.push_back(digits[toByte(c) & 15U]);
  }
  return out;
}

enum class Space : std::uint8_t { kPercent, kPlus };

SecretString percentForm(std::string_view value, std::string_view kept, std::string_view digits,
                         Space space) {
  SecretString out = room(value.size() * 3);
  for (const char c : value) {
    if (isAlnum(c) || isOneOf(c, kept)) {
      out.push_back(c);
    } else if (c == ' ' && space == Space::kPlus) {
      out.push_back('+');
    } else {
      out.push_back('%');
      out.push_back(digits[toByte(c) >> 4U]);
      out.push_back(digits[toByte(c) & 15U]);
    }
  }
  return out;
}

enum class Slash : std::uint8_t { kPlain, kEscaped };
enum class Markup : std::uint8_t { kPlain, kUnicode };  // whether < > & ' are written as \u00xx, as Go does

SecretString jsonForm(std::string_view value, Slash slash, Markup markup) {
  constexpr std::string_view kFrom = "\b\t\n\f\r";
  constexpr std::string_view kTo = "btnfr";
  SecretString out = room(value.size() * 6);
  for (const char c : value) {
    const std::size_t shortForm = kFrom.find(c);
    if (shortForm != std::string_view::npos) {
      out.append({'\\', kTo[shortForm]});
    } else if (c == '"' || c == '\\' || (c == '/' && slash == Slash::kEscaped)) {
      out.append({'\\', c});
    } else if (toByte(c) < 0x20 || (markup == Markup::kUnicode && isOneOf(c, "<>&'"))) {
      out.append("\\u00");
      out.append({kLowerHex[toByte(c) >> 4U], kLowerHex[toByte(c) & 15U]});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

SecretString singleQuoted(std::string_view value, std::string_view quote) {
  SecretString out = room(value.size() * 5);
  for (const char c : value) {
    if (c == '\'') {
      out.append(quote);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

SecretString backslashed(std::string_view value, std::string_view plain) {
  SecretString out = room(value.size() * 2);
  for (const char c : value) {
    if (!isAlnum(c) && toByte(c) < 0x80 && !isOneOf(c, plain)) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

SecretString xmlForm(std::string_view value, std::string_view apostrophe, std::string_view quote) {
  SecretString out = room(value.size() * 6);
  for (const char c : value) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append(quote);
        break;
      case '\'':
        out.append(apostrophe);
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace

std::vector<SecretString> encodedForms(std::string_view value) {
  constexpr std::string_view kUnreserved = "-._~";
  constexpr std::string_view kUriComponent = "-_.!~*'()";
  constexpr std::string_view kForm = "-._*";
  std::vector<SecretString> forms;
  forms.push_back(room(value.size()));
  forms.back().append(value);
  for (std::size_t skew = 0; skew < 3; ++skew) {
    forms.push_back(base64Core(value, skew, kBase64));
    forms.push_back(base64Core(value, skew, kBase64Url));
  }
  for (const std::string_view digits : {kLowerHex, kUpperHex}) {
    forms.push_back(hexForm(value, digits));
    forms.push_back(percentForm(value, kUnreserved, digits, Space::kPercent));
    forms.push_back(percentForm(value, "-._~/", digits, Space::kPercent));
    forms.push_back(percentForm(value, kUriComponent, digits, Space::kPercent));
    forms.push_back(percentForm(value, kForm, digits, Space::kPlus));
  }
  for (const Markup markup : {Markup::kPlain, Markup::kUnicode}) {
    forms.push_back(jsonForm(value, Slash::kPlain, markup));
    forms.push_back(jsonForm(value, Slash::kEscaped, markup));
  }
  forms.push_back(singleQuoted(value, "'\\''"));
  forms.push_back(singleQuoted(value, "'\"'\"'"));
  forms.push_back(singleQuoted(value, "\\'"));
  forms.push_back(backslashed(value, "-_./:=@%+,"));  // as printf %q and ls print names
  forms.push_back(backslashed(value, "_"));
  forms.push_back(xmlForm(value, "&#39;", "&quot;"));
  forms.push_back(xmlForm(value, "&apos;", "&#34;"));
  return forms;
}

}  // namespace factionos::redaction
