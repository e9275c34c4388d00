// Package proofs holds the proofs of every promise that Stele makes about
// crashes, a directory for each package, with their mutants. README.md is the map:
// promise, proof, mutants.
package proofs
