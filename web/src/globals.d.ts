/** Whether the page is made for opening from disk. */
declare const __OFFLINE__: boolean;
