// Package segmenttest writes segments of version 1 for tests. Stores write version 2;
// package segment reads what older ones wrote, and its comment draws the layout.
package segmenttest
