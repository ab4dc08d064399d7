package freemode

// Gate returns how transfers enter a new gate.
func Gate() func(who string) (leave func(), err error) { return new(gate).enter }
