package db

import "sync"

// VersionedValue keeps one value in memory for as long as the config version it was loaded under is
// the present one. The zero value is empty.
type VersionedValue[T any] struct {
	mu      sync.RWMutex
	version int64
	value   T
}

// Get returns the value for version, which the caller has just read, loading it when the one in
// memory is of another version. What load returns may be newer than version, never older; a later
// version loads again. An error is not kept.
func (v *VersionedValue[T]) Get(version int64, load func() (T, error)) (T, error) {
	v.mu.RLock()
	value, hit := v.value, v.version == version
	v.mu.RUnlock()
	if hit {
		return value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	v.mu.Lock()
	v.version, v.value = version, value
	v.mu.Unlock()
	return value, nil
}

// VersionedMap is Versioned for many values by key, at most limit of them. Use NewVersionedMap.
type VersionedMap[K comparable, T any] struct {
	limit int

	mu      sync.RWMutex
	version int64
	values  map[K]T
}

// NewVersionedMap returns an empty map that starts anew when it has grown to limit values.
func NewVersionedMap[K comparable, T any](limit int) *VersionedMap[K, T] {
	return &VersionedMap[K, T]{limit: limit, values: map[K]T{}}
}

// Get is Versioned.Get for key.
func (v *VersionedMap[K, T]) Get(version int64, key K, load func() (T, error)) (T, error) {
	v.mu.RLock()
	value, hit := v.values[key]
	hit = hit && v.version == version
	v.mu.RUnlock()
	if hit {
		return value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.version != version || len(v.values) >= v.limit {
		v.version, v.values = version, map[K]T{}
	}
	v.values[key] = value
	return value, nil
}
