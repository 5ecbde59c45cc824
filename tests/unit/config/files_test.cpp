#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config/reading.hpp"

namespace cdc::config {

namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, and DATABASE_URL in the process's environment.
class files : public testing::Test {
protected:
  files() : folder(fs::path{testing::TempDir()} / ("config_files_" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
    ::setenv("DATABASE_URL", "postgresql://u:hunter2@h/d", 1);
    ::setenv("CDC_SOURCE_URL", "postgresql://u:hunter2@h/d", 1);
    ::setenv("CDC_SEARCH_URL", "http://h:9200", 1);
  }
  ~files() override { fs::remove_all(folder); }

  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream{folder / name} << text;
    return folder / name;
  }

  /// A right file with a slot, target and lines of its own.
  fs::path pipeline(const std::string& name, const std::string& more = "") {
    return write(name + ".toml", "[source]\nurl_env = \"DATABASE_URL\"\nslot_name = \"" + name +
                                     "\"\n[target]\nflavor = \"sqlite\"\npath = \"" + name +
                                     ".db\"\n" + sync_lines + more);
  }

  fs::path folder;
};

std::string text_of(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream{file}.rdbuf();
  return out.str();
}

fs::path tree() {
  return fs::path{CDC_ROOT};
}

} // namespace

TEST_F(files, reads_a_file_with_the_environment_of_the_process) {
  const auto out = read(pipeline("a"));

  ASSERT_TRUE(out) << out.error().detail;
  EXPECT_EQ(out->source.name, "a");
  EXPECT_EQ(out->file, (folder / "a.toml").string());
}

TEST_F(files, names_a_file_that_cannot_be_read) {
  const auto absent = (folder / "none.toml").string();
  EXPECT_EQ(read(absent).error().detail,
            absent + ":1:1: the file cannot be read: No such file or directory");
  EXPECT_EQ(read(folder).error().detail,
            folder.string() + ":1:1: the file cannot be read: it is a folder; name its files, or "
                              "give it with --config-dir");
  EXPECT_EQ(read("/dev/zero").error().detail,
            "/dev/zero:1:1: the file cannot be read: it is a pipe or a device; write it to a file "
            "first");
  const auto large = folder / "large.toml";
  std::ofstream{large} << std::string(std::size_t{5} << 20, '#');
  EXPECT_EQ(read(large).error().detail,
            large.string() + ":1:1: the file cannot be read: it is larger than 4 MiB");
}

TEST_F(files, never_waits_for_a_pipe) {
  const auto pipe = folder / "pipe.toml";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(read(pipe).error().detail.find("it is a pipe or a device"), std::string::npos);
}

TEST_F(files, lists_a_folder_in_name_order_without_dot_files) {
  for (const auto* name : {"b.toml", "a.toml", ".hidden.toml", "mapping.json", "c.toml.bak"})
    write(name, "");
  fs::create_directories(folder / "sub.toml");

  EXPECT_EQ(files_in(folder).value(),
            (std::vector<fs::path>{folder / "a.toml", folder / "b.toml"}));
}

TEST_F(files, refuses_a_folder_without_files_or_that_is_not_there) {
  EXPECT_EQ(files_in(folder).error().code, errc::invalid_config);
  EXPECT_EQ(files_in(folder / "none").error().detail,
            (folder / "none").string() + ": the folder cannot be read: No such file or directory");
}

TEST_F(files, reads_several_files_as_one_process) {
  const auto out = read_all({pipeline("a"), pipeline("b")});

  ASSERT_TRUE(out) << out.error().detail;
  ASSERT_EQ(out->size(), 2u);
  EXPECT_EQ((*out)[1].source.name, "b");
}

TEST_F(files, reports_the_mistakes_of_every_file) {
  const auto a = write("a.toml", "[source]\nurl = 1\n");
  const auto b = write("b.toml", "not toml");
  const auto out = read_all({a, pipeline("c"), b});

  ASSERT_FALSE(out);
  EXPECT_NE(out.error().detail.find(a.string() + ":2:7: source.url"), std::string::npos);
  EXPECT_NE(out.error().detail.find(b.string() + ":1:5: not valid TOML"), std::string::npos)
      << out.error().detail;
}

TEST_F(files, lets_one_file_have_a_name_a_slot_and_a_target) {
  const auto a = pipeline("a");
  const auto b = write("b.toml", "[source]\nname = \"a\"\nurl_env = \"DATABASE_URL\"\n"
                                 "slot_name = \"a\"\n[target]\nflavor = \"sqlite\"\n"
                                 "path = \"./x/../a.db\"\n" +
                                     std::string{sync_lines});
  const auto out = read_all({a, b});

  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().detail,
            b.string() + ":1:1: source.name: is also the name in " + a.string() + ":1:1\n" +
                b.string() + ":1:1: source.slot_name: is the same slot on the same server as in " +
                a.string() + ":1:1\n" + b.string() + ":5:1: target.path: is also written by " +
                a.string() + ":4:1");
}

TEST_F(files, allows_one_slot_name_on_two_servers) {
  const auto one = [&](const std::string& name, const std::string& host) {
    return write(name + ".toml", "[source]\nurl = \"postgresql://" + host + "/d\"\n[target]\n" +
                                     "flavor = \"null\"\n" + sync_lines);
  };
  EXPECT_TRUE(read_all({one("a", "h1"), one("b", "h2")}));
  EXPECT_FALSE(read_all({one("a", "h1"), one("b", "h1:5432")}));
}

TEST_F(files, refuses_a_file_named_twice) {
  const auto a = pipeline("a");
  EXPECT_EQ(read_all({a, folder / "." / "a.toml"}).error().detail,
            (folder / "." / "a.toml").string() + ":1:1: the file is named twice");
}

TEST_F(files, lets_one_file_describe_the_process_for_all) {
  const auto out = read_all({pipeline("a"), pipeline("b", "[metrics]\nbind = \"127.0.0.1:7\"\n"
                                                          "[log]\nlevel = \"debug\"\n")});

  ASSERT_TRUE(out) << out.error().detail;
  EXPECT_EQ((*out)[0].metrics.port, 7u);
  EXPECT_EQ((*out)[0].log.level, "debug");
}

TEST_F(files, refuses_files_that_describe_the_process_differently) {
  const auto a = pipeline("a", "[metrics]\nbind = \"127.0.0.1:7\"\n[log]\nlevel = \"info\"\n");
  const auto b = pipeline("b", "[metrics]\nbind = \"127.0.0.1:8\"\n[log]\nlevel = \"info\"\n");
  const auto out = read_all({a, b});

  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().detail, b.string() +
                                    ":9:1: metrics: describes the whole process and "
                                    "differs from " +
                                    a.string() + ":9:1");
}

TEST_F(files, reads_every_example) {
  std::size_t examples = 0;
  for (const auto& entry : fs::directory_iterator{tree() / "examples"}) {
    if (entry.path().extension() != ".toml")
      continue;
    const auto out = read(entry.path());
    EXPECT_TRUE(out) << out.error().detail;
    if (out) {
      EXPECT_TRUE(out->notes.empty()) << out->notes[0];
    }
    ++examples;
  }
  EXPECT_GE(examples, 4u);
}

// Each section of the document is a heading `## [source]`, each option a row of its table that
// begins with its name.
TEST_F(files, finds_every_option_in_the_document) {
  std::istringstream text{text_of(tree() / "docs" / "configuration.md")};
  std::set<std::pair<std::string, std::string>> documented;
  std::string section;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## "))
      section = line.substr(3);
    if (line.starts_with("| `"))
      documented.emplace(section, line.substr(3, line.find('`', 3) - 3));
  }

  std::set<std::pair<std::string, std::string>> known;
  for (const auto& option : known_options()) {
    const auto heading = option.section.empty() ? "Sections"
                         : option.section == "target" || option.section == "sink"
                             ? "[target] and [[sink]]"
                         : option.section == "sync" ? "[sync.<key>]"
                                                    : "[" + option.section + "]";
    known.emplace(heading, option.key);
    EXPECT_TRUE(documented.contains({heading, option.key})) << heading << " " << option.key;
  }
  for (const auto& [heading, key] : documented)
    EXPECT_TRUE(known.contains({heading, key})) << heading << " " << key << " is no option";
}

} // namespace cdc::config
