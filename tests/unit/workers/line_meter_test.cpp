#include "workers/pty/line_meter.h"

#include <string>

#include <gtest/gtest.h>

namespace factionos::pty {
namespace {

termios canonical() {
  termios modes{};
  modes.c_iflag = ICRNL;
  modes.c_lflag = ICANON | ISIG | IEXTEN;
  modes.c_cc[VEOF] = 4;
  modes.c_cc[VINTR] = 3;
  modes.c_cc[VKILL] = 21;
  modes.c_cc[VQUIT] = 28;
  modes.c_cc[VSUSP] = 26;
  return modes;
}

std::string x(std::size_t count) {
  return std::string(count, 'x');
}

TEST(LineMeter, ALineMayHave4095BytesBeforeItsEnd) {
  const LineMeter meter;
  EXPECT_TRUE(meter.fits(x(4095) + "\n", canonical()));
  EXPECT_FALSE(meter.fits(x(4096) + "\n", canonical()));
  EXPECT_FALSE(meter.fits("a\n" + x(4096), canonical()));
  EXPECT_TRUE(meter.fits(x(4095) + "\n" + x(4095) + "\r" + x(4095), canonical()));
}

TEST(LineMeter, WhatWasTypedBeforeCounts) {
  LineMeter meter;
  meter.note(x(4000), canonical());
  EXPECT_TRUE(meter.fits(x(95) + "\n", canonical()));
  EXPECT_FALSE(meter.fits(x(96) + "\n", canonical()));
  meter.note("\n", canonical());
  EXPECT_TRUE(meter.fits(x(4095), canonical()));
}

TEST(LineMeter, ControlCharactersThatEndOrDropALineStartAnew) {
  for (const char* control : {"\x03", "\x04", "\x15", "\x1a", "\x1c", "\r"}) {
    LineMeter meter;
    meter.note(x(4000) + control, canonical());
    EXPECT_TRUE(meter.fits(x(4095), canonical())) << static_cast<int>(*control);
  }
  termios noFlush = canonical();
  noFlush.c_lflag |= NOFLSH;
  LineMeter meter;
  meter.note(x(4000) + "\x03", noFlush);
  EXPECT_FALSE(meter.fits(x(4095), noFlush));
}

TEST(LineMeter, CarriageReturnEndsALineOnlyWhereItIsTranslated) {
  termios modes = canonical();
  modes.c_iflag = 0;
  EXPECT_FALSE(LineMeter().fits(x(4000) + "\r" + x(4000), modes));
  modes.c_iflag = ICRNL | IGNCR;
  EXPECT_FALSE(LineMeter().fits(x(4000) + "\r" + x(4000), modes));
}

TEST(LineMeter, WithoutLineModeEverythingFits) {
  termios raw = canonical();
  raw.c_lflag = 0;
  LineMeter meter;
  EXPECT_TRUE(meter.fits(x(100000), raw));
  meter.note(x(100000), raw);
  EXPECT_TRUE(meter.fits(x(4095), canonical()));
}

}  // namespace
}  // namespace factionos::pty
