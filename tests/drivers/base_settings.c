/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser of settings: what each kind accepts, what it refuses and how it says so. */
#include "drivers/base/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/t.h"

static char why[512];

static int parse_setting(enum drv_setting_id id, const char *text, uint64_t *value)
{
	why[0] = 0;
	return drv_setting_parse(&drv_settings[id], text, value, why, sizeof why);
}

static void numbers_are_decimal_or_hexadecimal(void)
{
	uint64_t v = 7;

	CHECK_EQ(parse_setting(DRV_PAMI_COMMTHREAD_SLEEP, "2000", &v), 0);
	CHECK_EQ(v, 2000);
	CHECK_EQ(parse_setting(DRV_PAMI_COMMTHREAD_SLEEP, "0x1000", &v), 0);
	CHECK_EQ(v, 4096);
	/* A leading zero does not make it octal. */
	CHECK_EQ(parse_setting(DRV_PAMI_COMMTHREAD_SLEEP, "02010", &v), 0);
	CHECK_EQ(v, 2010);
}

static void numbers_out_of_range_are_refused(void)
{
	static const char *const wrong[] = {
	    "1999", "1000000001",           "-1",  "+5000", " 5000",
	    "0x",   "18446744073709551616", "5e3", "5000 ", "5000k"};
	uint64_t v = 7;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		CHECK_EQ(parse_setting(DRV_PAMI_COMMTHREAD_SLEEP, wrong[i], &v), -EINVAL);
		CHECK_EQ(v, 7);
		CHECK(strstr(why, "PAMI_COMMTHREAD_SLEEP is \""));
		CHECK(strstr(why, wrong[i]));
		CHECK(strstr(why, "from 2000 to 1000000000"));
	}
}

static void bytes_take_a_unit(void)
{
	uint64_t v = 0;

	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "12", &v), 0);
	CHECK_EQ(v, 12);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "3k", &v), 0);
	CHECK_EQ(v, 3u << 10);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "5M", &v), 0);
	CHECK_EQ(v, 5u << 20);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "2g", &v), 0);
	CHECK_EQ(v, 2ull << 30);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "3kb", &v), -EINVAL);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "3t", &v), -EINVAL);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_EAGER, "18446744073709551615k", &v), -EINVAL);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_HELD, "1023k", &v), -EINVAL);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_HELD, "1m", &v), 0);
}

static void powers_of_two_are_required_where_said(void)
{
	uint64_t v = 0;

	CHECK_EQ(parse_setting(DRV_QUINTORUS_CONTEXTS, "8", &v), 0);
	CHECK_EQ(v, 8);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_CONTEXTS, "12", &v), -EINVAL);
	CHECK(strstr(why, "a power of two from 2 to 64"));
	CHECK_EQ(parse_setting(DRV_QUINTORUS_CONTEXTS, "1", &v), -EINVAL);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_CONTEXTS, "128", &v), -EINVAL);
}

static void choices_are_whole_words(void)
{
	uint64_t v = 7;

	CHECK_EQ(parse_setting(DRV_QUINTORUS_SEAL, "encrypted", &v), 0);
	CHECK_EQ(v, 3);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_SEAL, "Auto", &v), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_SEAL, "encrypt", &v), -EINVAL);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_SEAL, "none encrypted", &v), -EINVAL);
	CHECK(strstr(why, "auto none authenticated encrypted"));
}

static void switches_and_flags(void)
{
	uint64_t v = 7;

	CHECK_EQ(parse_setting(DRV_QUINTORUS_LANES, "off", &v), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_LANES, "1", &v), 0);
	CHECK_EQ(v, 1);
	CHECK_EQ(parse_setting(DRV_QUINTORUS_LANES, "offf", &v), -EINVAL);
	CHECK(strstr(why, "on or off"));
	/* ARMCI's users know that any other text means no. */
	CHECK_EQ(parse_setting(DRV_ARMCI_DEBUG_ALLOC, "Yes", &v), 0);
	CHECK_EQ(v, 1);
	CHECK_EQ(parse_setting(DRV_ARMCI_DEBUG_ALLOC, "maybe", &v), 0);
	CHECK_EQ(v, 0);
}

static void getters_fall_back_to_the_default(void)
{
	unsetenv("QUINTORUS_EAGER");
	CHECK(!drv_setting_is_set(DRV_QUINTORUS_EAGER));
	CHECK_EQ(drv_setting_number(DRV_QUINTORUS_EAGER), 8192);
	setenv("QUINTORUS_EAGER", "", 1);
	CHECK(!drv_setting_is_set(DRV_QUINTORUS_EAGER));
	CHECK_EQ(drv_setting_number(DRV_QUINTORUS_EAGER), 8192);
	setenv("QUINTORUS_EAGER", "many", 1);
	CHECK(!drv_setting_is_set(DRV_QUINTORUS_EAGER));
	CHECK_EQ(drv_setting_number(DRV_QUINTORUS_EAGER), 8192);
	CHECK_EQ(drv_setting_check(DRV_QUINTORUS_EAGER), -EINVAL);
	setenv("QUINTORUS_EAGER", "1k", 1);
	CHECK(drv_setting_is_set(DRV_QUINTORUS_EAGER));
	CHECK_EQ(drv_setting_number(DRV_QUINTORUS_EAGER), 1024);
	CHECK_EQ(drv_setting_check(DRV_QUINTORUS_EAGER), 0);
	unsetenv("QUINTORUS_EAGER");
	/* A default that the code chooses is none for the getters. */
	unsetenv("QUINTORUS_CONTEXTS");
	CHECK_EQ(drv_setting_number(DRV_QUINTORUS_CONTEXTS), 0);
	unsetenv("QUINTORUS_PORT");
	CHECK(!drv_setting_text(DRV_QUINTORUS_PORT));
	unsetenv("QUINTORUS_SSH");
	CHECK_STR(drv_setting_text(DRV_QUINTORUS_SSH), "ssh");
}

static void misspelled_names_have_a_nearest_one(void)
{
	const struct drv_setting *s = drv_setting_nearest("QUINTORUS_EAGR");

	REQUIRE(s);
	CHECK_STR(s->name, "QUINTORUS_EAGER");
	s = drv_setting_nearest("QUINTORUS_LANE");
	REQUIRE(s);
	CHECK_STR(s->name, "QUINTORUS_LANES");
	CHECK(!drv_setting_nearest("QUINTORUS_NOTHING_LIKE_IT"));
	/* Users do not set internal ones. */
	s = drv_setting_nearest("QUINTORUS_TASKS");
	CHECK(!s || strcmp(s->name, "QUINTORUS_TASK"));
}

static unsigned errors, warnings;
static char sentences[4096];

static void count_sentence(bool is_error, const char *sentence)
{
	if (is_error)
		errors++;
	else
		warnings++;
	strncat(sentences, sentence, sizeof sentences - strlen(sentences) - 1);
}

static void environment_is_checked_as_a_whole(void)
{
	unsigned before;

	errors = warnings = 0;
	before = drv_settings_check_all(count_sentence);
	CHECK_EQ(before, errors);
	errors = warnings = 0;
	sentences[0] = 0;
	setenv("QUINTORUS_QUEUE", "-5", 1);
	setenv("ARMCI_STRIDED_METHOD", "FAST", 1);
	setenv("QUINTORUS_QUEU", "5", 1);
	/* A name longer than every known one, of which the known one is the beginning. */
	setenv("QUINTORUS_HOST_OF_MANY_WORDS_AND_MORE_THAN_SIXTY_FOUR_CHARACTERS_IN_ALL", "5", 1);
	setenv("ARMCI_UNKNOWN_TO_US", "5", 1);
	CHECK_EQ(drv_settings_check_all(count_sentence), before + 2);
	CHECK_EQ(errors, before + 2);
	CHECK_EQ(warnings, 2);
	CHECK(strstr(sentences, "QUINTORUS_QUEUE is \"-5\""));
	CHECK(strstr(sentences, "ARMCI_STRIDED_METHOD is \"FAST\": give one of: AUTO"));
	CHECK(strstr(sentences, "QUINTORUS_QUEU is no setting: did you mean QUINTORUS_QUEUE?"));
	CHECK(!strstr(sentences, "UNKNOWN_TO_US"));
	unsetenv("QUINTORUS_QUEUE");
	unsetenv("ARMCI_STRIDED_METHOD");
	unsetenv("QUINTORUS_QUEU");
	unsetenv("QUINTORUS_HOST_OF_MANY_WORDS_AND_MORE_THAN_SIXTY_FOUR_CHARACTERS_IN_ALL");
	unsetenv("ARMCI_UNKNOWN_TO_US");
}

static void rows_agree_with_themselves(void)
{
	for (int i = 0; i < DRV_SETTINGS; i++) {
		const struct drv_setting *s = &drv_settings[i];

		CHECK_EQ(s->kind == DRV_SETTING_CHOICE, s->choices != NULL);
		CHECK(s->low <= s->high);
		CHECK(strlen(s->help) > 10 && s->help[strlen(s->help) - 1] == '.');
		if (*s->standard && *s->standard != '(' &&
		    parse_setting((enum drv_setting_id)i, s->standard, NULL))
			CHECK_FAIL("%s", s->name);
	}
}

T_MAIN(T(numbers_are_decimal_or_hexadecimal), T(numbers_out_of_range_are_refused),
       T(bytes_take_a_unit), T(powers_of_two_are_required_where_said), T(choices_are_whole_words),
       T(switches_and_flags), T(getters_fall_back_to_the_default),
       T(misspelled_names_have_a_nearest_one), T(environment_is_checked_as_a_whole),
       T(rows_agree_with_themselves))
