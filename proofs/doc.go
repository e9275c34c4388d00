// Package proofs holds proofs that need more than one module of ours.
package proofs
