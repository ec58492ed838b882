// Numbers of calls that the headers or the libseccomp of Debian 12 may not name. From 424 on every
// architecture that we build for has the same numbers (source: the kernel's syscall tables). Where the
// headers know a name, they must agree.
#pragma once

#include <array>
#include <string_view>

#include <sys/syscall.h>

namespace factionos::sandbox::calls {

struct Named {
  int number;
  std::string_view name;
};

inline constexpr int kLandlockCreateRuleset = 444;
inline constexpr int kLandlockAddRule = 445;
inline constexpr int kLandlockRestrictSelf = 446;
inline constexpr int kFutexWaitv = 449;
inline constexpr int kCachestat = 451;
inline constexpr int kFchmodat2 = 452;
inline constexpr int kMapShadowStack = 453;
inline constexpr int kFutexWake = 454;
inline constexpr int kFutexWait = 455;
inline constexpr int kFutexRequeue = 456;
inline constexpr int kStatmount = 457;
inline constexpr int kListmount = 458;
inline constexpr int kLsmGetSelfAttr = 459;
inline constexpr int kLsmSetSelfAttr = 460;
inline constexpr int kLsmListModules = 461;
inline constexpr int kMseal = 462;
inline constexpr int kSetxattrat = 463;
inline constexpr int kGetxattrat = 464;
inline constexpr int kListxattrat = 465;
inline constexpr int kRemovexattrat = 466;
inline constexpr int kOpenTreeAttr = 467;
inline constexpr int kFileGetattr = 468;
inline constexpr int kFileSetattr = 469;
inline constexpr int kLastKnown = kFileSetattr;

inline constexpr std::array kNewer = {
    Named{kLandlockCreateRuleset, "landlock_create_ruleset"},
    Named{kLandlockAddRule, "landlock_add_rule"},
    Named{kLandlockRestrictSelf, "landlock_restrict_self"},
    Named{kFutexWaitv, "futex_waitv"},
    Named{kCachestat, "cachestat"},
    Named{kFchmodat2, "fchmodat2"},
    Named{kMapShadowStack, "map_shadow_stack"},
    Named{kFutexWake, "futex_wake"},
    Named{kFutexWait, "futex_wait"},
    Named{kFutexRequeue, "futex_requeue"},
    Named{kStatmount, "statmount"},
    Named{kListmount, "listmount"},
    Named{kLsmGetSelfAttr, "lsm_get_self_attr"},
    Named{kLsmSetSelfAttr, "lsm_set_self_attr"},
    Named{kLsmListModules, "lsm_list_modules"},
    Named{kMseal, "mseal"},
    Named{kSetxattrat, "setxattrat"},
    Named{kGetxattrat, "getxattrat"},
    Named{kListxattrat, "listxattrat"},
    Named{kRemovexattrat, "removexattrat"},
    Named{kOpenTreeAttr, "open_tree_attr"},
    Named{kFileGetattr, "file_getattr"},
    Named{kFileSetattr, "file_setattr"},
};

#ifdef __NR_landlock_create_ruleset
static_assert(kLandlockCreateRuleset == __NR_landlock_create_ruleset);
static_assert(kLandlockAddRule == __NR_landlock_add_rule);
static_assert(kLandlockRestrictSelf == __NR_landlock_restrict_self);
#endif
#ifdef __NR_futex_waitv
static_assert(kFutexWaitv == __NR_futex_waitv);
#endif
#ifdef __NR_cachestat
static_assert(kCachestat == __NR_cachestat);
#endif
#ifdef __NR_fchmodat2
static_assert(kFchmodat2 == __NR_fchmodat2);
#endif
#ifdef __NR_map_shadow_stack
static_assert(kMapShadowStack == __NR_map_shadow_stack);
#endif
#ifdef __NR_futex_wake
static_assert(kFutexWake == __NR_futex_wake && kFutexWait == __NR_futex_wait);
static_assert(kFutexRequeue == __NR_futex_requeue);
#endif
#ifdef __NR_statmount
static_assert(kStatmount == __NR_statmount && kListmount == __NR_listmount);
#endif
#ifdef __NR_lsm_list_modules
static_assert(kLsmGetSelfAttr == __NR_lsm_get_self_attr && kLsmSetSelfAttr == __NR_lsm_set_self_attr);
static_assert(kLsmListModules == __NR_lsm_list_modules);
#endif
#ifdef __NR_mseal
static_assert(kMseal == __NR_mseal);
#endif
#ifdef __NR_removexattrat
static_assert(kSetxattrat == __NR_setxattrat && kGetxattrat == __NR_getxattrat);
static_assert(kListxattrat == __NR_listxattrat && kRemovexattrat == __NR_removexattrat);
#endif
#ifdef __NR_open_tree_attr
static_assert(kOpenTreeAttr == __NR_open_tree_attr);
#endif
#ifdef __NR_file_setattr
static_assert(kFileGetattr == __NR_file_getattr && kFileSetattr == __NR_file_setattr);
#endif

}  // namespace factionos::sandbox::calls
