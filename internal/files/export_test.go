package files

// DeleteFolders is the last step of the collector.
var DeleteFolders = deleteFolders
