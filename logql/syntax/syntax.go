// Package syntax reads LogQL, the query language of Loki, and writes it.
//
//	query  -- lexer.go --> tokens -- parser*.go --> tree (tree.go) -- printer*.go --> query
//
// Parse returns the tree, or an *Error that shows the place. The String method of a node
// writes it in one line with as few parentheses as possible, and Format writes a query as
// Loki's /format_query does, in as many lines as it takes. Both parse to the same tree again.
//
// A parser takes time and memory in proportion to the query, and bounds its length, its depth,
// and the size of its regular expressions: any text is safe to parse. The text of templates, patterns,
// addresses and JSON paths is kept as it is; who compiles the stages checks it.
package syntax
