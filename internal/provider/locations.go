package provider

import (
	"context"
	"strings"
)

// StoreLocation is a directory or bucket with all providers that store objects there, each under a
// prefix of its own. An object that any of them knows is not an orphan.
type StoreLocation struct {
	ID        string     // constant while its providers keep their type, endpoint and bucket
	Providers []Provider // at least one
}

// ProviderOf returns the provider in this location that a key belongs to: the one with the longest
// matching prefix, or the first provider if none matches.
func (l StoreLocation) ProviderOf(key string) Provider {
	owner, longest := l.Providers[0], -1
	for _, candidate := range l.Providers {
		prefix := candidate.PathPrefix
		if prefix != "" && !strings.HasSuffix(prefix, "/") {
			prefix += "/"
		}
		if head := key[:min(len(prefix), len(key))]; head == prefix && len(prefix) > longest {
			owner, longest = candidate, len(prefix)
		}
	}
	return owner
}

// ProviderIDs returns the ids of the location's providers.
func (l StoreLocation) ProviderIDs() []string {
	ids := make([]string, len(l.Providers))
	for i, provider := range l.Providers {
		ids[i] = provider.ID
	}
	return ids
}

// StoreLocations returns the locations of all providers, whether or not a mount uses them. It does
// not access any store.
func (r *Registry) StoreLocations(ctx context.Context) ([]StoreLocation, error) {
	all, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	var locations []StoreLocation
	at := map[string]int{}
	for _, p := range all {
		id := p.Endpoint + "\x00" + p.Bucket
		if p.Type == BuiltIn {
			id = p.Bucket
		}
		i, known := at[id]
		if !known {
			i = len(locations)
			at[id] = i
			locations = append(locations, StoreLocation{ID: strings.ReplaceAll(id, "\x00", " ")})
		}
		locations[i].Providers = append(locations[i].Providers, p)
	}
	return locations, nil
}
