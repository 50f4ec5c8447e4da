// Removal of folders that programs of others have written to.
#pragma once

#include <boost/filesystem/path.hpp>

namespace compiler_gym::util {

// Removes a folder with all that is in it: folders of any depth, without permissions, and links,
// which are not followed. Or removes a file. The programs that wrote to it must have ended. Returns
// whether nothing is left. Gives up at the first entry that cannot be removed, and sets errno.
bool removeFolder(const boost::filesystem::path& path);

}  // namespace compiler_gym::util
