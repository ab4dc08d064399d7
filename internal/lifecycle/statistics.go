package lifecycle

import (
	"context"

	"larder/internal/account"
	"larder/internal/files"
)

// ProviderUsage is what lies with a provider.
type ProviderUsage struct {
	ID, Name string
	files.Amount
}

// Statistics is how much there is of everything.
type Statistics struct {
	Users, Files int64
	Storage      []ProviderUsage // of all providers, the oldest first
}

// Statistics counts. Specification: Dashboard and statistics.
func (s *Service) Statistics(ctx context.Context) (st Statistics, err error) {
	if st.Users, err = account.Count(s.cfg.DB.Read(ctx)); err != nil {
		return Statistics{}, err
	}
	providers, err := s.cfg.Providers.All(ctx)
	if err != nil {
		return Statistics{}, err
	}
	ids := make([]string, len(providers))
	for i, p := range providers {
		ids[i] = p.ID
	}
	all, by, err := s.cfg.Tree.Usage(ctx, ids)
	if err != nil {
		return Statistics{}, err
	}
	st.Files = all.Files
	for _, p := range providers {
		st.Storage = append(st.Storage, ProviderUsage{p.ID, p.Name, by[p.ID]})
	}
	return st, nil
}
