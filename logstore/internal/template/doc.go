// Package template has the templates of log lines: what stays the same in many lines,
// with slots for what changes.
//
// A template is n+1 literals with n slots between them, and a line is the literals with
// a variable in each slot. The idea is that of CLP (Rodrigues, Luo and Yuan: CLP:
// Efficient and Scalable Search on Compressed Text Logs, OSDI 2021).
//
// # Dictionaries
//
// The templates of a segment are in a dictionary, numbered from 0. Blocks name them by
// number; a segment that is made of others has a dictionary with all of their
// templates, and new numbers. Encoded, a dictionary has neither compression nor
// checksum, which are its user's. Uvarints are those of encoding/binary in their
// shortest form:
//
//	1  version, 1
//	   templates (uvarint), 65,536 at most
//	   for each its literals, with a byte 00 between two of them, and 01 behind the last;
//	   each byte of a literal that is 00, 01 or 02 has 02 before it
//
// So a compressor has the text of one template after the other: sizes of literals before
// each took a quarter more.
//
// A template has at most 255 slots and 64 KiB of literals. Its key is:
//
//	slots (uvarint)
//	for each of the literals, one more than slots, its bytes (uvarint)
//	the literals
//
// No template comes twice; all keys have 4 MiB at most.
//
// For example, "GET <*> took <*>" and the template of a line that has nothing in common
// with others, a single slot:
//
//	01 02
//	47 45 54 20 00 20 74 6f 6f 6b 20 00 01
//	00 01
//
// # How templates are found
//
// A Parser divides a line into tokens: runs of letters and digits. One with a digit is a
// variable, and so are a time, a UUID, an address and a number with its sign and point;
// the other tokens are words. All but these is the skeleton of the line. A template has
// the skeleton and the words of its lines: where four lines or more are the same but for
// the word at one place, that word is a variable too (the idea of Drain: He et al., ICWS
// 2017). Lines that are still without a template are divided into chunks instead, which
// end at blanks, quotes and brackets only, so that names made of a different number of
// words have one template. What is left is plain.
//
// A Miner has what was found, for all Parsers that share it, in bounded memory: when it
// has more, it forgets the half that blocks used longest ago. A line is compared with the
// pattern that came last after the two before, and only if it has another one divided
// into tokens: so most lines cost two or three comparisons. No slot begins or ends within
// a word, so a word lies in a literal or in a variable.
//
// # Search
//
// A Query is asked of a dictionary first (NewPlan), which tells of each template whether
// all of its lines pass, none, or some; then of the filter of a block with these templates
// (BlockJudge); then of the variables of the block (Scanner). A text may be in a
// literal, in a variable, or across both: Needle.In lists the ways, each as conditions on
// the variables of some slots, such as "5 m" in "took <*> ms": slot 0 ends with "5". That
// lines are rebuilt only where variables leave it open is the idea of LogGrep (Wei et al.:
// LogGrep: Fast and Cheap Cloud Log Storage by Exploiting both Static and Runtime Patterns,
// EuroSys 2023).
//
// Of a regular expression an Automaton knows whether a literal or a variable has a match, which
// no text beside it changes, and a Walk over literals and what is known of variables whether
// lines may have one.
package template
