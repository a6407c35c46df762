/* The reference for `det`: a program that does nothing. What it takes is the kernel's, and the dynamic linker's for the
 * C library. */
int main(void)
{
    return 0;
}
