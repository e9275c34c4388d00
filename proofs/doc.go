// Package proofs holds the proofs of every promise that Stele makes about
// crashes, a folder for each package, with their mutants. README.md is the map:
// promise, proof, mutants.
package proofs
