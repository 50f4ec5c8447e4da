// Tests of session records. Each test writes a record in a process that does not survive.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "compiler_gym/service/runtime/server/isolation/EndReport.h"
#include "compiler_gym/service/runtime/wire/WorkerRecord.h"
#include "tests/Statuses.h"

namespace compiler_gym::runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using util::FileDescriptor;

Event action(int64_t number) {
  Event event;
  event.set_int64_value(number);
  return event;
}

std::string contents(const FileDescriptor& file) {
  std::string text(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

class WorkerRecordTest : public ::testing::Test {
 protected:
  WorkerRecordTest() { EXPECT_THAT(WorkerRecord::create(&record_), IsOk()); }

  // Lets another process write the record, and be killed. Returns its pid.
  int writeAndDie(const std::function<void(WorkerRecord&)>& write) const {
    const pid_t pid = fork();
    if (pid == 0) {
      std::unique_ptr<WorkerRecord> theirs;
      if (!WorkerRecord::open(FileDescriptor(dup(record_->memory())), &theirs).ok()) _exit(1);
      theirs->adopt();
      write(*theirs);
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
    return pid;
  }

  std::vector<HistoryEntry> history() const {
    std::vector<HistoryEntry> entries;
    EXPECT_TRUE(record_->history(&entries));
    return entries;
  }

  std::unique_ptr<WorkerRecord> record_;
};

TEST_F(WorkerRecordTest, OtherActivities) {
  record_->begin(Activity::kActing, "append", -1);
  EXPECT_EQ(record_->describeActivity(), "action 'append' (step 0)");
  record_->begin(Activity::kObserving, "Ir");
  EXPECT_EQ(record_->describeActivity(), "observation 'Ir'");
  EXPECT_FALSE(record_->isActing());
  record_->begin(Activity::kStarting);
  EXPECT_EQ(record_->describeActivity(), "the start of the session");
  record_->begin(Activity::kActing, std::string(10'000, 'n'));
  EXPECT_EQ(record_->subject(), std::string(255, 'n'));
  record_->end();
  EXPECT_FALSE(record_->isBusy());
  EXPECT_EQ(record_->describeActivity(), "no action or observation");
}

TEST_F(WorkerRecordTest, OutputIsBounded) {
  writeAndDie([](WorkerRecord& record) {
    for (int i = 0; i < 100'000; ++i) {
      record.handOutputOn(-1);
      std::cerr << "line " << i << '\n';
    }
    std::cerr << "the last" << std::endl;
  });
  EXPECT_THAT(record_->outputTail(), EndsWith("\n  line 99999\n  the last"));
  EXPECT_LE(record_->outputTail().size(), 8192u);
}

TEST_F(WorkerRecordTest, MoreOutputInOneRequestThanThereIsRoomFor) {
  writeAndDie([](WorkerRecord& record) {
    for (int i = 0; i < 100'000; ++i) std::cerr << "line " << i << '\n';
    record.begin(Activity::kActing, "gvn", 70);
  });
  EXPECT_NE(record_->outputTail(), "");
  EXPECT_EQ(record_->subject(), "gvn");
}

TEST_F(WorkerRecordTest, OutputIsHandedOnOnce) {
  const FileDescriptor log(memfd_create("log", MFD_CLOEXEC));
  writeAndDie([&log](WorkerRecord& record) {
    record.handOutputOn(log.get());
    std::cerr << "of one" << std::endl;
    printf("request\n");
    record.handOutputOn(log.get());
    record.handOutputOn(log.get());
    std::cerr << "of another" << std::endl;
    record.handOutputOn(log.get());
    std::cerr << "of the last" << std::endl;
  });
  EXPECT_EQ(contents(log), "of one\nrequest\nof another\n");
  EXPECT_EQ(record_->outputTail(), "\n  of the last");
}

TEST_F(WorkerRecordTest, NothingIsAddedToALogThatIsFull) {
  const FileDescriptor log(memfd_create("log", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(log.get(), WorkerRecord::kMaxLogBytes + 1), 0);
  ASSERT_EQ(lseek(log.get(), 0, SEEK_END), WorkerRecord::kMaxLogBytes + 1);
  writeAndDie([&log](WorkerRecord& record) {
    std::cerr << "too much" << std::endl;
    record.handOutputOn(log.get());
  });
  EXPECT_EQ(lseek(log.get(), 0, SEEK_END), WorkerRecord::kMaxLogBytes + 1);
  EXPECT_EQ(record_->outputTail(), "");
}

TEST_F(WorkerRecordTest, History) {
  writeAndDie([](WorkerRecord& record) {
    SessionParameter parameter;
    parameter.set_key("key");
    record.addToHistory(true, action(1));
    record.addToHistory(false, parameter);
    record.addToHistory(true, action(2));
    record.dropFromHistory();
    record.addToHistory(true, action(3));
  });
  const std::vector<HistoryEntry> entries = history();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_TRUE(entries[0].isAction);
  EXPECT_EQ(entries[0].message, action(1).SerializeAsString());
  EXPECT_FALSE(entries[1].isAction);
  EXPECT_EQ(entries[2].message, action(3).SerializeAsString());
}

TEST_F(WorkerRecordTest, HistoryIsCopied) {
  record_->beginStep();
  record_->addToHistory(true, action(1));
  std::unique_ptr<WorkerRecord> copy;
  ASSERT_TRUE(WorkerRecord::create(&copy).ok());
  copy->copyHistory(*record_);
  record_->addToHistory(true, action(2));
  copy->addToHistory(true, action(3));
  copy->begin(Activity::kActing, "x", 3);
  std::vector<HistoryEntry> entries;
  EXPECT_TRUE(copy->history(&entries));
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[1].message, action(3).SerializeAsString());
  EXPECT_EQ(copy->describeActivity(), "action 'x' (number 3, step 1)");
  EXPECT_THAT(history(), SizeIs(2));
}

TEST_F(WorkerRecordTest, TooLongHistoryIsIncomplete) {
  Event large;
  large.set_string_value(std::string(300'000, 'x'));
  for (int i = 0; i < 3; ++i) record_->addToHistory(true, large);
  EXPECT_THAT(history(), SizeIs(3));
  record_->addToHistory(true, large);
  std::vector<HistoryEntry> entries;
  EXPECT_FALSE(record_->history(&entries));
  // It stays so in a copy.
  std::unique_ptr<WorkerRecord> copy;
  ASSERT_TRUE(WorkerRecord::create(&copy).ok());
  copy->copyHistory(*record_);
  EXPECT_FALSE(copy->history(&entries));
}

TEST_F(WorkerRecordTest, AFailedActionThatDidNotFitDropsNoOther) {
  Event large;
  large.set_string_value(std::string(2 << 20, 'x'));
  record_->addToHistory(true, action(1));
  record_->addToHistory(true, action(2));
  record_->addToHistory(true, large);
  record_->dropFromHistory();
  std::vector<HistoryEntry> entries;
  record_->history(&entries);
  EXPECT_THAT(entries, SizeIs(2));
}

TEST_F(WorkerRecordTest, GarbageIsSurvived) {
  struct stat file = {};
  ASSERT_EQ(fstat(record_->memory(), &file), 0);
  auto* const bytes = static_cast<unsigned char*>(
      mmap(nullptr, file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, record_->memory(), 0));
  ASSERT_NE(bytes, MAP_FAILED);
  uint32_t random = 1;
  for (int round = 0; round < 20; ++round) {
    for (off_t i = 0; i < file.st_size; ++i) {
      random = random * 1664525 + 1013904223;
      bytes[i] = round == 0 ? 0xff : static_cast<unsigned char>(random >> 24);
    }
    lseek(record_->memory(), round * (off_t{1} << 40), SEEK_SET);
    std::vector<HistoryEntry> entries;
    record_->history(&entries);
    record_->outputTail();
    EXPECT_LT(record_->subject().size(), 257u);
    EXPECT_LT(record_->describeActivity().size(), 400u);
    std::unique_ptr<WorkerRecord> copy;
    ASSERT_TRUE(WorkerRecord::create(&copy).ok());
    copy->copyHistory(*record_);
  }
  munmap(bytes, file.st_size);
}

TEST_F(WorkerRecordTest, MemoryCannotBeTakenAway) {
  EXPECT_NE(ftruncate(record_->memory(), 0), 0);
  EXPECT_NE(ftruncate(record_->memory(), 1 << 30), 0);
}

// Reports on processes that ended before they were ready.
TEST(EndReportTest, OfAProcessThatNeverServedARequest) {
  std::unique_ptr<WorkerRecord> record;
  ASSERT_TRUE(WorkerRecord::create(&record).ok());
  const auto textFor = [&record](bool isCopy) {
    EndFacts facts;
    facts.isCopy = isCopy;
    return reportEnd(*record, facts).status.error_message();
  };
  EXPECT_THAT(textFor(/*isCopy=*/true), HasSubstr("was to be a copy ended before it was copied"));
  EXPECT_THAT(textFor(/*isCopy=*/false), HasSubstr("its process ended before it served a request"));
  record->setEndReason(EndReason::kNoPidfd, EMFILE);
  EXPECT_THAT(textFor(/*isCopy=*/false), HasSubstr("Too many open files"));
  EXPECT_THAT(textFor(/*isCopy=*/true), HasSubstr("pidfd_open, which needs Linux 5.3"));
}

}  // namespace
}  // namespace compiler_gym::runtime
