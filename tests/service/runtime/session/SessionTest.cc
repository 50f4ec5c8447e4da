#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/session/Session.h"
#include "tests/service/runtime/ToySession.h"

namespace compiler_gym::runtime {
namespace {

TEST(SessionTest, ParametersThatAskAreNotPartOfTheHistory) {
  const boost::filesystem::path directory = boost::filesystem::temp_directory_path();
  const ServiceDescription description{toy::ToySession(directory)};
  std::unique_ptr<SessionRecord> record;
  ASSERT_TRUE(SessionRecord::create(&record).ok());
  Session session(std::make_unique<toy::ToySession>(directory), description, *record);
  const auto historyAfter = [&](const std::string& key) {
    SendSessionParameterRequest request;
    request.add_parameter()->set_key(key);
    request.mutable_parameter(0)->set_value("7");
    SendSessionParameterReply reply;
    EXPECT_TRUE(session.setParameters(request, &reply).ok());
    EXPECT_EQ(reply.reply_size(), 1);
    std::vector<HistoryEntry> history;
    EXPECT_TRUE(record->history(&history));
    return history.size();
  };
  EXPECT_EQ(historyAfter("toy.get_sleep_milliseconds"), 0u);
  EXPECT_EQ(historyAfter("toy.set_sleep_milliseconds"), 1u);
}

}  // namespace
}  // namespace compiler_gym::runtime
