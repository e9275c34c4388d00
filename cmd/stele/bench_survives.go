package main

import "github.com/stele-go/stele/lab/run"

// survives words what a finished operation of a variant survives.
func survives(v *run.VariantResult) string { return v.Promise.Level.Survives() }
