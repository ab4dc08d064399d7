package lifecycle

import (
	"context"

	"larder/internal/account"
	"larder/internal/files"
	"larder/internal/quota"
)

// ProviderUsage is the number of files in a provider and their bytes.
type ProviderUsage struct {
	ID, Name string
	files.Amount
}

// Statistics are the numbers of users and files, and the use of each provider.
type Statistics struct {
	Users, Files int64
	Storage      []ProviderUsage // of all providers, the oldest first
}

// Statistics counts all users, files and bytes, and the files and bytes of each provider.
// Specification: Dashboard and statistics.
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

// InUse reports whether the site has an account besides the first one, or a file.
func (s *Service) InUse(ctx context.Context) (bool, error) {
	q := s.cfg.DB.Read(ctx)
	accounts, err := account.Count(q)
	if err != nil || accounts > 1 {
		return accounts > 1, err
	}
	_, stored, err := quota.Total(q)
	return stored > 0, err
}
