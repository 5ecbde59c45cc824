#include "cli/commands/completions.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cdc::cli {

namespace {

std::vector<std::string> names_of(const described_command& command) {
  std::vector<std::string> out;
  for (const auto& option : command.options)
    out.insert(out.end(), option.names.begin(), option.names.end());
  return out;
}

// What may stand where an argument without a name does.
const described_option* positional(const described_command& command) {
  const auto found = std::ranges::find_if(command.options,
                                          [](const auto& option) { return option.is_positional; });
  return found == command.options.end() ? nullptr : &*found;
}

// -- bash -----------------------------------------------------------------------------------------

std::string bash_value(const described_option& option) {
  if (!option.choices.empty())
    return fmt::format(R"(COMPREPLY=($(compgen -W "{}" -- "$word")))",
                       fmt::join(option.choices, " "));
  if (!option.takes_file && !option.takes_folder)
    return "COMPREPLY=()";
  // A name may have spaces in it.
  return fmt::format(R"(mapfile -t COMPREPLY < <(compgen -{} -- "$word"))",
                     option.takes_folder ? 'd' : 'f');
}

std::string bash_command(const described_command& command) {
  auto out = fmt::format("    {})\n      case $before in\n", command.name);
  for (const auto& option : command.options)
    if (option.takes_value && !option.names.empty())
      out += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"),
                         bash_value(option));
  out += "      esac\n";
  const auto* argument = positional(command);
  out += fmt::format("      if [[ $word != -* ]]; then\n        {}\n      else\n"
                     "        COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n      fi ;;\n",
                     argument ? bash_value(*argument) : "COMPREPLY=()",
                     fmt::join(names_of(command), " "));
  return out;
}

// -- zsh ------------------------------------------------------------------------------------------

// Within '…[help]': a quote ends the string and a bracket the help.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const auto letter : text) {
    if (letter == '\'')
      out += "'\\''";
    else if (letter == '[' || letter == ']' || letter == ':')
      out += std::string{"\\"} + letter;
    else
      out += letter;
  }
  return out;
}

std::string zsh_value(const described_option& option) {
  if (!option.choices.empty())
    return fmt::format(":value:({})", fmt::join(option.choices, " "));
  if (option.takes_folder)
    return ":folder:_files -/";
  return option.takes_file ? ":file:_files" : option.takes_value ? ":value:" : "";
}

std::string zsh_command(const described_command& command) {
  auto out = fmt::format("    {})\n      _arguments", command.name);
  for (const auto& option : command.options) {
    for (const auto& name : option.names)
      out += fmt::format(" \\\n        '{}{}[{}]{}'", name,
                         option.takes_value && name.starts_with("--") ? "=" : "",
                         zsh_text(option.help), zsh_value(option));
    if (option.is_positional)
      out += fmt::format(" \\\n        '*{}'", zsh_value(option));
  }
  return out + " ;;\n";
}

} // namespace

std::string bash_completions(const std::vector<described_command>& commands) {
  std::vector<std::string> words;
  std::string cases;
  for (const auto& command : commands) {
    if (command.name.empty())
      continue;
    words.push_back(command.name);
    cases += bash_command(command);
  }
  const auto own = names_of(commands.front());
  words.insert(words.end(), own.begin(), own.end());
  return fmt::format(R"(# bash completion of cdc-actors: source <(cdc-actors completions bash)
_cdc_actors() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
}}
complete -o filenames -F _cdc_actors cdc-actors
)",
                     fmt::join(words, " "), cases);
}

std::string zsh_completions(const std::vector<described_command>& commands) {
  std::string words;
  std::string cases;
  for (const auto& command : commands) {
    if (command.name.empty())
      continue;
    words += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.help));
    cases += zsh_command(command);
  }
  return fmt::format(R"(#compdef cdc-actors
# zsh completion of cdc-actors: source <(cdc-actors completions zsh)
_cdc_actors() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _cdc_actors cdc-actors
)",
                     words, cases);
}

int run_completions(const completions_options& options) {
  const auto commands = describe_commands();
  const auto script =
      options.shell == "zsh" ? zsh_completions(commands) : bash_completions(commands);
  std::fputs(script.c_str(), stdout);
  return 0;
}

} // namespace cdc::cli
