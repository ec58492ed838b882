#include <algorithm>
#include <string>

#include "sandbox/programs.h"

namespace factionos::sandbox {
namespace {

void writeForm(std::ostream& out, std::size_t index, const RulesForm& form) {
  out << "constexpr std::uint64_t kRules" << index << "[] = {";
  for (std::size_t i = 0; i < form.size(); ++i) out << (i % 8 == 0 ? "\n" : " ") << form[i] << "ULL,";
  out << "};\n";
}

void writeProgram(std::ostream& out, std::size_t index, const Program& program) {
  out << "constexpr sock_filter kInstructions" << index << "[] = {";
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const sock_filter& one = program.instructions[i];
    out << (i % 6 == 0 ? "\n" : " ") << '{' << one.code << ", " << unsigned{one.jt} << ", "
        << unsigned{one.jf} << ", " << one.k << "U},";
  }
  out << "};\n";
}

}  // namespace

void writeBuiltPrograms(std::ostream& out, std::string_view span, std::span<const SeccompPolicy> policies) {
  out << "// Generated when the product is built.\n"
         "#include \"sandbox/programs.h\"\n\nnamespace {\n\nusing factionos::sandbox::BuiltProgram;\n\n";
  std::vector<RulesForm> forms;
  for (const SeccompPolicy& policy : policies) {
    RulesForm form = rulesForm(policy);
    if (std::ranges::find(forms, form) != forms.end()) continue;
    writeForm(out, forms.size(), form);
    writeProgram(out, forms.size(), compileFor(policy, kAnyProcess));
    forms.push_back(std::move(form));
  }
  out << "constexpr BuiltProgram kAll[] = {\n";
  for (std::size_t i = 0; i < forms.size(); ++i) {
    out << "    {kRules" << i << ", kInstructions" << i << "},\n";
  }
  const std::size_t split = span.rfind("::");
  out << "};\n\n}  // namespace\n\nnamespace " << span.substr(0, split)
      << " {\n\nextern const std::span<const factionos::sandbox::BuiltProgram> " << span.substr(split + 2)
      << ";\nconstinit const std::span<const factionos::sandbox::BuiltProgram> " << span.substr(split + 2)
      << "(kAll);\n\n}\n";
}

}  // namespace factionos::sandbox
