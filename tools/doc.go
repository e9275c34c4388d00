// Package tools holds what those who work on the tree need: commands, and tests
// of the tree itself. It is never released.
package tools
