// Package tools holds commands for work on the tree, and tests of the tree itself.
// It is never released.
package tools
