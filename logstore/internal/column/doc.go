// Package column encodes the variables of a block of log lines that belong together, and
// decodes and searches them. Values are any bytes and come back as they were; what most of
// them look like decides how they are kept: see [Kind].
//
// An [Encoder] collects values and appends a column; a [Column] opens it, gives values by
// their number, and tells which pass a [Test], without making text where it can.
//
//	kind.go, classify.go   kinds, and how one is found by a sample of the values
//	encoder.go, column.go  the two types
//	ints.go, ints_read.go  sequences of integers; choose.go picks their form by a sample
//	symbol.go, bits.go     numbers as symbols and bits
//	number.go              integers, decimals, addresses, UUIDs and their texts
//	layout.go, time.go     times within lines
//	pattern.go             values that are literals and parts
//	match.go, limits.go    tests, and what rules them out; match_number.go, match_func.go
//	peek.go, skim.go       the same of columns that are not open, or in part; range.go and
//	                       time_range.go, by the range of their numbers
//	codes.go, numbers.go   values by number, each distinct one once
//	rule.go, keep.go       which bytes values may have
//
// A column is in two sections that it shares with the other columns of its block. The
// packed section has kinds and numbers, which compression rarely makes smaller; the text
// section has texts, which it does. Most columns of numbers have no text, and are read
// without decompressing any. Sections have checksums where they are stored. Bytes
// that are not a column are refused by [Column.Open] with an error that wraps [ErrDamaged].
//
// The ideas are those of others: templates and variables of CLP, patterns within variables
// of LogGrep, integers by reference and bits of FastLanes and ALP.
//
// # Columns
//
// The number of values, n, at least one, is told by the block. A column of no values has no
// bytes. In the packed section, where varint and uvarint are those of encoding/binary, "ints"
// is a sequence of integers (see below), and "column" a column within this one:
//
//	1  kind, and flags: 0x20 a width follows, 0x80 some values do not fit
//	   Constant    uvarint length
//	   Text        1 separator: 1 '\n', 2 0xff, 3 0x00; uvarint length of the texts
//	               or 0; ints lengths
//	   Dictionary  uvarint k; column of k values; ints of n numbers below k
//	   Integer     [1 width] [misses] ints [places]
//	   Hex         [1 width] [misses] ints [places]
//	   HexUpper    [1 width] [misses] ints [places]
//	   Decimal     1 scale; [misses] ints; ints of digits that are left out [places]
//	   IPv4        [misses] ints [places]
//	   UUID        [misses] 16 bytes a value [places]
//	   HexBytes    1 width; [misses] width bytes a value [places]
//	   Time        1 layout; 1 zulu<<7 | fraction<<4 | digits; [misses] ints [places]
//	   Pattern     1 k; k+1 times uvarint length; [misses] k columns [places]
//
// In the text section are the bytes of a Constant; the texts of Text, each followed by the
// separator if there is one; the literals of a Pattern; and symbols of ints. The two
// sections are read in the same order: what comes first in packed has its text first.
//
// Misses and places are there if flag 0x80 is set. Misses are uvarint m, less than n, and a
// column of the m values that do not fit; places are ints, m of them, rising: where these are
// among the n values. All between is of the n-m others. So what tells of most tests, the few
// values of a dictionary, misses and how large the other numbers are, is at the beginning.
//
// IPv6 addresses, durations and sizes have no kind of their own. Where many are written
// alike they are a Pattern of hexadecimal or decimal numbers: 8.04 bytes for 64 random bits of
// an address, 3.3 for a random duration of some milliseconds.
//
// Integers have no leading zeros, a '-' if negative, and at least as many digits as the
// width, then with zeros before. Hex are the same in hexadecimal of unsigned 64 bits.
// A Decimal is an integer without its point: its last digits, as many as the scale, come
// after the point; as many as the second sequence says, all 0, are left out, and so is the
// point if none remain. An address is its four bytes, the first one highest. The numbers of
// a Time are how many units it lies after the time of its row, rounded down to a unit: a
// second divided by 10^digits, or a day if the layout has no seconds. With zulu 1 a Z follows
// each. Times are in no column within another.
//
// Layouts, from 0 on:
//
//	0   Y-m-dTH:M:S      7  ymd HMS          14  b d H:M:S         21  Y-m-d-H.M.S
//	1   Y-m-d H:M:S      8  Ymd HMS          15  a b e H:M:S Y     22  Ymd-H:M:S
//	2   Y/m/d H:M:S      9  YmdTHMS          16  a b d H:M:S Y     23  md H:M:S
//	3   y/m/d H:M:S      10 d/b/Y:H:M:S      17  a, d b Y H:M:S    24  Y-m-d
//	4   m-d H:M:S        11 d/b/Y H:M:S      18  m/d/Y H:M:S       25  Y.m.d
//	5   H:M:S            12 d b Y H:M:S      19  d.m.Y H:M:S       26  Y/m/d
//	6   Y-m-d_H:M:S      13 b e H:M:S        20  m.d H:M:S         27  U
//
// Y is the year, y its last two digits, from 2000 on; m the month, b its name (Jan); d the
// day, e the same with a blank before one digit; a the day of the week (Mon); H, M and S are
// hours, minutes and seconds, U the seconds since 1970. Numbers but Y and U have two digits.
// All other letters are themselves. Behind S or U is the fraction, if it has digits: '.' if
// fraction is 1, ',' if 2, ':' if 3, nothing if 4, and the digits.
//
// Columns are at most 5 deep, and at most 32 within one, itself included.
//
// # Integers
//
// A sequence of n integers, at least one, wraps around at 2^64:
//
//	1  form | order<<3 | flags: 0x20 direct, 0x40 unit, 0x80 rising
//	   varint base; uvarint unit, if flag 0x40 is set, else it is 1
//	   form 0  constant  nothing else: all are the base
//	   form 1  bits      1 width; numbers of that many bits each
//	   form 2  Huffman   top; [first] uvarint size; a code; extra bits
//	   form 3  text      top; [first] extra bits; the symbols are in the text section
//	   form 4  symbol    top; [first] 1 symbol, which all have; extra bits
//	   form 5  distinct  instead of a base: uvarint k; ints, k of them; ints, n below k,
//	                     which say which of the first each is; neither is of form 5
//
// Integers are base + unit times the number. No number, taken modulo 2^64 and without a sign,
// is larger than top, a uvarint. Bits are
// packed from the lowest bit of the first byte on, and padded with zeros. A code is a tree and
// one stream as in section 4.2 of RFC 8878 (that of zstd).
//
// A symbol below 16 is the number itself. Symbol 16 + 4*(e-4) + m, m from 0 to 3, has e-2
// extra bits x: the number is (4+m)<<(e-2) + x. With flag direct a symbol is the number. The
// order says what the numbers are:
//
//	0  those of the sequence
//	1  differences: first, a uvarint, is the first number; the others are zigzag (0, -1, 1,
//	   -2, ...) differences to the one before, or with flag rising not zigzag
//	2  changes of differences: the same with the change of the difference, which begins at 0
//	3  ranks: below 15, the place of the number in the list of the 15 that came last, the
//	   latest first; 15 means one more than the largest so far (at first 0); 16 + x means x
//
// # Worked examples
//
// The rows are a millisecond apart from 2026-01-05 08:00:00.123456789 UTC on.
//
//	GET GET GET             00 03                    "GET"
//	a bc (empty)            01 01 06                 "a\nbc\n\n"
//	on off on on off on     02 02                    two distinct values
//	                        01 01 07                 "on\noff\n"
//	                        01 00 01 12              bits: base 0, width 1, 010010
//	1000 1002 1004 ... 1018 03                       integers
//	                        cc d0 0f 02 09           one symbol, differences, unit, rising; base
//	                                                 1000; unit 2; none above 9
//	                        00 01                    the first is 0; symbol 1 for all others
//	00FF 1A00               25 04                    upper hex with a width of 4
//	                        cc fe 03 81 32 01        base 255, unit 6401, none above 1
//	                        00 01
//	0.50 12.5 3             06 02                    decimals of scale 2
//	                        41 64 32 05              bits, unit: base 50; unit 50; 5 bits each
//	                        00 17                    0 24 5: 0.50 12.50 3.00
//	                        8c 00 02 00 01           0 1 2 digits are left out
//	10.0.0.1:80 10.0.0.7:8080
//	                        0b 02 00 01 00           two parts; literals "", ":", ""
//	                        07 cc 82 80 80 a0 01 06 01 00 01
//	                                                 addresses: base 10.0.0.1, unit 6
//	                        03 cc a0 01 c0 3e 01 00 01
//	                                                 integers: base 80, unit 8000
//	2026-01-05 08:00:00.123 2026-01-05 08:00:00.124 2026-01-05 08:00:00.122
//	                        0a 01 13                 layout 1, '.' and 3 digits
//	                        41 05 03 01 03           bits, unit: base -3; unit 3; 1 bit each: 1 1 0
package column
