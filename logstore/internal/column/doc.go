// Package column encodes the variables of a block of log lines that belong together, and
// decodes and searches them. Values are any bytes and come back as they were; what they
// look like decides how they are kept: see [Kind].
//
// A column is in two sections that it shares with the other columns of its block. The
// packed section has kinds and numbers, which compression makes no smaller; the text
// section has texts, which it does. A column of numbers has no text, so it is read
// without decompressing anything.
//
// Sections have checksums where they are stored. Bytes that are not a column are refused
// by [Column.Open] with an error that wraps [ErrDamaged].
package column
